// Endpoints: all senders of this process, and who receives in it, so that each finds the receive
// buffers of its peer.
#ifndef TESTS_STRICT_ENDPOINTS_H_
#define TESTS_STRICT_ENDPOINTS_H_

#include <rdma/fi_cm.h>
#include <rdma/fi_endpoint.h>
#include <sys/socket.h>

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "tests/strict/rules.h"

namespace mad::strict {

/// What travels with a message of the provider below: its sender's number, whether its user gave
/// data, and these.
inline constexpr std::uint64_t kHasData = 1u << 31;

class Endpoints {
 public:
  using Name = std::vector<char>;

  static Endpoints& all() {
    static Endpoints here;
    return here;
  }
  /// `object`: of a sender that is a connected endpoint; or null.
  std::uint32_t add(Sender& sender, fid_ep* object, std::shared_ptr<Buffers> buffers) {
    const std::lock_guard<std::mutex> lock(mutex_);
    by_number_[++last_] = {&sender, object, std::move(buffers)};
    return last_;
  }
  void remove(std::uint32_t number) {
    const std::lock_guard<std::mutex> lock(mutex_);
    by_number_.erase(number);
  }
  Sender* find(std::uint32_t number) {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto found = by_number_.find(number);
    return found == by_number_.end() ? nullptr : found->second.sender;
  }
  /// The buffers of the endpoint at the other end, or null: it is in another process.
  std::shared_ptr<Buffers> peer_of(fid_ep* endpoint) {
    const std::lock_guard<std::mutex> lock(mutex_);
    const Name here = name(endpoint, false), there = name(endpoint, true);
    for (auto& [number, each] : by_number_) {
      if (each.object != nullptr && name(each.object, false) == there &&
          name(each.object, true) == here) {
        return each.buffers;
      }
    }
    return nullptr;
  }

  /// Who receives datagrams by this name; the last to have it.
  void listens(const Name& name, std::shared_ptr<Buffers> buffers) {
    const std::lock_guard<std::mutex> lock(mutex_);
    by_name_[name] = std::move(buffers);
  }
  std::shared_ptr<Buffers> listening(const Name& name) {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto found = by_name_.find(name);
    return found == by_name_.end() ? nullptr : found->second;
  }

  static Name name(fid_ep* endpoint, bool of_peer) {
    sockaddr_storage address{};
    std::size_t size = sizeof(address);
    const int error = of_peer ? fi_getpeer(endpoint, &address, &size)
                              : fi_getname(&endpoint->fid, &address, &size);
    const char* const bytes = reinterpret_cast<const char*>(&address);
    return error == 0 ? Name(bytes, bytes + size) : Name();
  }

 private:
  struct Entry {
    Sender* sender;
    fid_ep* object;
    std::shared_ptr<Buffers> buffers;
  };

  std::mutex mutex_;
  std::map<std::uint32_t, Entry> by_number_;
  std::map<Name, std::shared_ptr<Buffers>> by_name_;
  std::uint32_t last_ = 0;
};

}  // namespace mad::strict

#endif  // TESTS_STRICT_ENDPOINTS_H_
