// Node: one engine of a test, used through the C interface only, with its callbacks recorded.
#ifndef TESTS_ENGINE_NODE_H_
#define TESTS_ENGINE_NODE_H_

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <initializer_list>
#include <string>
#include <vector>

#include "netmod/abi/mad.h"
#include "tests/support/bytes.h"

namespace mad::test {

/// The fabrics that every test of an engine holds for; those between processes.
inline constexpr const char* kFabrics[] = {"loopback", "tcp",           "ofi:tcp",
                                           "ucx:tcp",  "ucx:posix,cma", "shm"};
inline constexpr const char* kNetworks[] = {"tcp", "ofi:tcp", "ucx:tcp", "ucx:posix,cma", "shm"};

/// Several fabrics of one engine.
inline constexpr const char* kLists[] = {"ucx:posix;tcp", "shm;tcp", "loopback;ucx:tcp;tcp"};

/// A fabric's name as a test's.
inline std::string test_name(std::string fabric) {
  const auto is_mark = [](char c) { return c == ':' || c == ';' || c == ','; };
  std::replace_if(fabric.begin(), fabric.end(), is_mark, '_');
  return fabric;
}
/// The same, for INSTANTIATE_TEST_SUITE_P.
inline constexpr auto fabric_test_name = [](const auto& info) { return test_name(info.param); };

/// An operation and what its callback said.
struct Operation {
  Operation() { slot.context = this; }
  Operation(const Operation&) = delete;
  Operation& operator=(const Operation&) = delete;

  /// Notes what a call returned: done at once, or to be waited for.
  void started(int result) {
    if (result != MAD_IN_PROGRESS) finish(result, 0);
  }
  void finish(int result, std::uint64_t count) {
    ++callbacks;
    done = true;
    status = result;
    bytes = count;
  }

  mad_op slot{};
  bool done = false;
  int status = MAD_IN_PROGRESS;
  std::uint64_t bytes = 0;  // receives
  int callbacks = 0;        // must end as 1

  /// Of a receive of a tagged message.
  mad_receive* receive = nullptr;
  mad_arrival arrival{};
  std::string value;  // what came along
  bool matched = false;
};

struct Arrival {
  mad_peer* from = nullptr;
  std::uint8_t handler = 0;
  std::string header;
  std::uint64_t payload_bytes = 0;
  mad_incoming* incoming = nullptr;
};

struct Departure {
  mad_peer* peer = nullptr;
  int status = 0;
  std::string why;
};

class Node {
 public:
  /// `tune` may change the configuration before the engine opens, by `open`.  Fails the test if it
  /// does not open.
  explicit Node(const std::string& fabric, const std::function<void(mad_config&)>& tune = {},
                const std::function<int(const mad_config*, mad_engine**)>& open = mad_engine_open);
  ~Node();
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;

  mad_engine* engine() { return engine_; }
  std::vector<unsigned char> address() const;
  mad_peer* peer(const Node& other);
  const mad_counters& counters() { return *mad_engine_counters(engine_); }
  int progress();
  void close();

  void send(mad_peer* to, const std::string& header, const void* base, std::uint64_t count,
            const mad_type* type, mad_path path, Operation* operation, std::uint8_t handler = 1);
  void receive(mad_incoming* incoming, void* base, std::uint64_t count, const mad_type* type,
               mad_path path, Operation* operation);

  void send_tagged(mad_peer* to, const mad_envelope& envelope, const void* base,
                   std::uint64_t count, const mad_type* type, mad_path path, Operation* operation,
                   std::uint32_t flags = 0, const mad_extension* extension = nullptr);
  void receive_tagged(const mad_envelope& wanted, void* base, std::uint64_t count,
                      const mad_type* type, mad_path path, Operation* operation);
  void receive_claimed(mad_message* message, void* base, std::uint64_t count, const mad_type* type,
                       mad_path path, Operation* operation);

  /// Takes the oldest arrival.
  Arrival take();

  std::deque<Arrival> arrivals;
  std::vector<Departure> departures;
  std::function<void(const Arrival&)> on_arrival;  // instead of `arrivals`

 private:
  mad_engine* engine_ = nullptr;
};

/// Progresses all nodes until `reached` or `limit` has passed; returns whether it was reached.
bool progress_until(std::initializer_list<Node*> nodes, const std::function<bool()>& reached,
                    std::chrono::seconds limit = std::chrono::seconds(40));

/// Closes all of them at once, each in a thread of its own: an engine waits a while for its peers
/// to notice that it leaves.
void close_together(const std::vector<Node*>& nodes);

/// A type handle that is released when it goes.
class TypeHandle {
 public:
  TypeHandle() = default;
  explicit TypeHandle(mad_type* type) : type_(type) {}
  TypeHandle(TypeHandle&& other) noexcept : type_(other.type_) { other.type_ = nullptr; }
  TypeHandle& operator=(TypeHandle&& other) noexcept {
    std::swap(type_, other.type_);
    return *this;
  }
  ~TypeHandle() { mad_type_release(type_); }
  mad_type* get() const { return type_; }
  void reset() {
    mad_type_release(type_);
    type_ = nullptr;
  }

 private:
  mad_type* type_ = nullptr;
};

/// A committed vector of `count` blocks of `block` bytes, `stride` bytes apart.
TypeHandle blocks(std::uint64_t count, std::uint64_t block, std::int64_t stride);

}  // namespace mad::test

#endif  // TESTS_ENGINE_NODE_H_
