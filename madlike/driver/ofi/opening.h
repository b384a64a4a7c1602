// OfiOpenings: endpoints that are being opened.
//
// libfabric's verbs finds the way to the peer's host when an endpoint is opened and returns when it
// has it, or after 2 s when nobody answers (vrb_create_ep(), rdma_resolve_addr()); it has no other
// way.  As connect() must not wait, a thread of its own opens such an endpoint.  There is none
// where opening does not block.
#ifndef MADLIKE_DRIVER_OFI_OPENING_H_
#define MADLIKE_DRIVER_OFI_OPENING_H_

#include <rdma/fi_endpoint.h>

#include <cstdint>
#include <deque>
#include <future>
#include <list>
#include <optional>
#include <vector>

#include "madlike/base/status.h"
#include "madlike/driver/driver.h"
#include "madlike/driver/libfabric/fid.h"
#include "madlike/driver/ofi/fabric.h"

namespace mad {

class OfiOpenings {
 public:
  struct Opened {
    ConnectionId connection;
    std::uint32_t number;
    Result<FidPtr<fid_ep>> endpoint;
  };

  /// Waits in its destructor for what is being opened.
  explicit OfiOpenings(OfiFabric& fabric) : fabric_(fabric) {}

  /// Opens an endpoint to `peer` for the connection; `number` comes back with it.
  void add(ConnectionId connection, std::uint32_t number, std::vector<std::byte> peer);
  /// The connection needs none any more; one that is being opened comes back all the same.
  void cancel(ConnectionId connection);
  /// One that is open, or could not be opened.
  std::optional<Opened> take();
  bool empty() const { return waiting_.empty() && running_.empty(); }

 private:
  // A host that does not answer keeps a thread; the others go on.
  static constexpr std::size_t kAtOnce = 8;

  struct Waiting {
    ConnectionId connection;
    std::uint32_t number;
    std::vector<std::byte> peer;
  };
  struct Running {
    ConnectionId connection;
    std::uint32_t number;
    std::future<Result<FidPtr<fid_ep>>> endpoint;
  };
  void start();

  OfiFabric& fabric_;
  std::deque<Waiting> waiting_;
  std::list<Running> running_;
};

}  // namespace mad

#endif  // MADLIKE_DRIVER_OFI_OPENING_H_
