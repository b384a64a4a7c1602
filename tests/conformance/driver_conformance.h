// The driver conformance suite: what every Driver must do, whatever its fabric.
//
// A driver joins by instantiating the suite with a factory of driver pairs:
//
//   INSTANTIATE_TEST_SUITE_P(Loopback, DriverConformance,
//                            ::testing::Values(DriverFactory{"loopback", make_pair_function}));
//
// and linking //tests/conformance:driver_conformance.  Both drivers of a pair live in the test's
// process and are polled by the test's one thread.
#ifndef TESTS_CONFORMANCE_DRIVER_CONFORMANCE_H_
#define TESTS_CONFORMANCE_DRIVER_CONFORMANCE_H_

#include <functional>
#include <map>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "madlike/driver/driver.h"
#include "tests/support/bytes.h"

namespace mad {

/// Two unconnected engines of one fabric.
struct DriverPair {
  std::unique_ptr<Driver> a;
  std::unique_ptr<Driver> b;
  /// Makes b die without a word, as a killed process would.  Empty: destroying b does that.
  std::function<void()> kill_b;
};

struct DriverFactory {
  std::string name;
  std::function<DriverPair()> make;
  /// The address of an engine that does not exist (any more) on this fabric; empty: not tested.
  std::function<std::vector<std::byte>(const DriverPair&)> nobody;
  /// Nothing has left before its receiver polls: it says what arrived.
  bool leaves_when_polled = false;
};

inline std::ostream& operator<<(std::ostream& out, const DriverFactory& factory) {
  return out << factory.name;
}

/// Memory for the rest of a packet, in runs of at most 1000 bytes.
class RestMemory : public ScatteredMemory {
 public:
  explicit RestMemory(std::size_t size) : bytes(size) {}
  std::size_t runs(std::uint64_t offset, std::uint64_t size, Segment* out,
                   std::size_t capacity) override;
  std::vector<std::byte> bytes;
};

/// Cuts `bytes` into `count` segments of the same length, but for the last, which may be longer.
std::vector<Segment> cut(std::vector<std::byte>& bytes, std::size_t count);
inline SegmentList list(const std::vector<Segment>& segments) {
  return {segments.data(), segments.size()};
}

/// A driver and everything it has said so far.
class Station {
 public:
  struct Received {
    ConnectionId connection;
    std::vector<std::byte> bytes;
  };

  explicit Station(Driver& driver) : driver(driver) {}

  /// Polls once; received packets are copied, and released at once unless `keep` is set.  Some are
  /// taken where they arrived, and some of those that could be are not.
  void poll();

  Driver& driver;
  bool keep = false;
  bool place_rests = false;  // asks for it, of two in three packets that come in pieces
  std::size_t asked_rests = 0, refused_rests = 0, placed_rests = 0;
  std::vector<Received> received;
  std::vector<void*> kept;                  // buffers not yet released, in order of arrival
  std::map<void*, int> finished;            // context -> completions (kSent and kWritten)
  std::map<void*, Status> finished_status;  // context -> the last one's status
  std::size_t finished_count = 0;
  std::map<ConnectionId, Status> disconnected;
  std::map<ConnectionId, int> connected;
  struct Begun {
    std::vector<std::byte> bytes;
    std::size_t left = 0;
    std::unique_ptr<RestMemory> rest;  // if the driver places it
  };
  std::map<ConnectionId, Begun> begun;  // packets that come in pieces

 private:
  void take(const Completion& completion);
  void take_in_place();

  unsigned looks_ = 0;
};

class DriverConformance : public ::testing::TestWithParam<DriverFactory> {
 protected:
  void SetUp() override;
  void TearDown() override;

  /// Polls both engines until `done` holds; false after ten seconds.
  bool pump(const std::function<bool()>& done);
  /// The same of b alone.
  bool pump_receiver(const std::function<bool()>& done);
  /// a's connection to b (and the other way round with `from_b`).
  ConnectionId connect(bool from_b = false);
  /// Posts, polling while the driver says kAgain.
  Status send(Station& from, ConnectionId connection, SegmentList packet, void* context);
  Status write(Station& from, ConnectionId connection, SegmentList packet,
               const ExposureToken& token, std::uint64_t offset, void* context);
  /// Puts all of them into memory that b shares, and waits until they are there.
  bool put(Bytes bytes, const ExposureToken& token, std::uint64_t offset);
  /// Gets a first part of `memory`, all of it if it is not longer than a packet.
  bool get_first(Segment memory, const ExposureToken& token, std::uint64_t offset, void* context);
  /// Gets all of it, one part after the other.
  bool get(Segment memory, const ExposureToken& token, std::uint64_t offset);
  /// Whether a's posts with these contexts are done, all well.
  bool all_finished(std::vector<int>& contexts);
  /// Connects a to b and waits until a packet each way has arrived.
  void establish();

  DriverPair pair;
  std::unique_ptr<Station> a;
  std::unique_ptr<Station> b;
  ConnectionId to_b = 0;  // after establish()
  ConnectionId to_a = 0;
};

}  // namespace mad

#endif  // TESTS_CONFORMANCE_DRIVER_CONFORMANCE_H_
