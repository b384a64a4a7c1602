// PeerAddresses: the engines that an endpoint for datagrams sends to, in libfabric's address
// vector.
//
// An address stays as long as somebody uses it: a connection, or what is sent and not completed,
// also of a connection that has ended.  Two connections to one engine, of which one ends, have one.
#ifndef MADLIKE_DRIVER_OFI_PEER_ADDRESSES_H_
#define MADLIKE_DRIVER_OFI_PEER_ADDRESSES_H_

#include <rdma/fi_domain.h>

#include <cstddef>
#include <map>
#include <vector>

#include "madlike/base/status.h"

namespace mad {

class PeerAddresses {
 public:
  struct Entry {
    fi_addr_t address = FI_ADDR_UNSPEC;
    std::size_t uses = 0;
    const std::vector<std::byte>* name = nullptr;
  };

  /// `vector` stays the caller's.
  explicit PeerAddresses(fid_av& vector) : vector_(vector) {}

  /// The entry of the endpoint of this name (fi_getname()), with one use more.  kUnreachable: the
  /// provider does not take it.
  Result<Entry*> add(const std::vector<std::byte>& name);
  static void use(Entry& entry) { ++entry.uses; }
  /// One use less.
  void drop(Entry& entry);
  std::size_t size() const { return entries_.size(); }

 private:
  fid_av& vector_;
  std::map<std::vector<std::byte>, Entry> entries_;
};

}  // namespace mad

#endif  // MADLIKE_DRIVER_OFI_PEER_ADDRESSES_H_
