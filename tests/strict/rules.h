// Rules: whether what a user of a domain does is what RDMA hardware would carry out.
//
// Every segment lies in a region that lives, and is given with that region's descriptor; no region
// is closed while an operation uses it, where memory is to be registered; no message is sent for
// which its receiver has no buffer ready.  A rule answers with a sentence that says what was wrong;
// an empty one: nothing was. Nothing here knows libfabric's objects: a descriptor is any pointer.
#ifndef TESTS_STRICT_RULES_H_
#define TESTS_STRICT_RULES_H_

#include <sys/uio.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "tests/strict/persona.h"

namespace mad::strict {

/// Receive buffers of one domain.  A message takes one when it is sent: it may arrive at once.  Who
/// sends to a domain that is closed has not noticed yet, and no rule is broken.
struct Buffers {
  bool closed = false;
  std::size_t ready = 0;     // posted and not completed
  std::size_t expected = 0;  // messages under way to them
};

/// Of one endpoint, to one peer: what it has not completed, and what the peer has not received.
struct Sender {
  std::shared_ptr<Buffers> receiver;  // null: of another process, of which nothing is known
  std::size_t under_way = 0;          // messages that its peer has not received
  std::size_t operations = 0;         // that have not completed
};

class Rules {
 public:
  explicit Rules(const Persona& persona) : persona_(persona) {}

  void add_region(void* descriptor, const void* base, std::size_t bytes, std::uint64_t access);
  std::string remove_region(void* descriptor);

  /// A receive of one buffer.
  std::string receive(const iovec& buffer, void* descriptor, const void* context);
  /// A packet (FI_SEND), a write (FI_WRITE) or a read (FI_READ); `injected`: the memory is the
  /// caller's at once.
  std::string send(Sender& from, const iovec* iov, void* const* descriptors, std::size_t count,
                   std::uint64_t access, bool injected, const void* context);
  /// A message of so many bytes whose memory is the caller's at once and that nobody is told of.
  std::string inject(Sender& from, std::size_t bytes);
  /// Whether the endpoint has all operations that it may have.
  bool is_full(const Sender& from) const { return from.operations >= persona_.sends; }
  bool has_all_buffers() const { return buffers_->ready >= persona_.receives; }
  /// The fabric did not take it after all.
  void taken_back(Sender& from, std::uint64_t access, const void* context);
  void inject_taken_back(Sender& from);
  /// An operation or a receive has completed, well or not.
  void completed(const void* context);
  /// A message of `from` was received here.
  void received(Sender* from);
  /// The endpoint is closed.
  void closed(Sender& from);
  /// What receives have been posted to is closed.
  void no_receives();

  /// Outlive the domain: senders count in them.
  const std::shared_ptr<Buffers>& buffers() { return buffers_; }

 private:
  struct Region {
    std::uintptr_t begin = 0, end = 0;
    std::uint64_t access = 0;
    std::size_t uses = 0;
  };
  struct Operation {
    std::vector<Region*> regions;
    Sender* from = nullptr;  // null: a receive
  };
  void end_all_of(const Sender* from);
  std::string take_buffer(Sender& from) const;
  std::string find(const iovec& segment, void* descriptor, std::uint64_t access, Region** out);

  const Persona& persona_;
  std::map<void*, Region> regions_;
  std::unordered_map<const void*, Operation> operations_;
  const std::shared_ptr<Buffers> buffers_ = std::make_shared<Buffers>();
};

}  // namespace mad::strict

#endif  // TESTS_STRICT_RULES_H_
