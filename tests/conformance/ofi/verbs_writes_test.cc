// Long remote writes on an RDMA device, and memory that may not be written, or locked, any more.
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>

#include "tests/conformance/driver_conformance.h"
#include "tests/conformance/ofi/verbs_host.h"
#include "tests/conformance/polled.h"
#include "tests/support/bytes.h"

namespace mad {
namespace {

const auto* const kHost = ::testing::AddGlobalTestEnvironment(new VerbsHost);

constexpr std::size_t kMiB = 1024 * 1024;

struct VerbsEngine {
  VerbsEngine() : driver(open_verbs()), station(*driver) {}
  std::unique_ptr<Driver> driver;
  Station station;
};

class VerbsWrites : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto& address = b.driver->address();
    const auto id = a.driver->connect(address.data(), address.size());
    ASSERT_TRUE(id.ok());
    to_b = *id;
    ASSERT_TRUE(pump(
        [&] { return a.station.connected.count(to_b) == 1 && b.station.connected.size() == 1; }));
    to_a = b.station.connected.begin()->first;
  }
  bool pump(const std::function<bool()>& done) {
    return poll_all<VerbsEngine>({&a, &b}, done, std::chrono::milliseconds(60000));
  }
  /// Writes and says a word after it; whether both came.
  bool is_written(const std::vector<Segment>& segments, const ExposureToken& token) {
    int context = 0;
    a.station.finished.clear();
    b.station.received.clear();
    const Status posted = a.driver->post_write(to_b, list(segments), token, 8, &context);
    Bytes word(8);
    if (!posted.in_progress() || post_polling(a, to_b, word, {&a, &b}).error()) return false;
    if (!pump([&] { return b.station.received.size() == 1; })) return false;
    Bytes bytes;
    for (const Segment& each : segments) bytes.insert(bytes.end(), each.begin(), each.end());
    return std::equal(bytes.begin(), bytes.end(), target.begin() + 8) &&
           pump([&] { return a.station.finished.count(&context) == 1; }) &&
           a.station.finished_status[&context].ok();
  }

  VerbsEngine a, b;
  ConnectionId to_b = 0, to_a = 0;
  Bytes source = pattern(2 * kMiB, 5);
  Bytes target = Bytes(kMiB + 64);
};

TEST_F(VerbsWrites, OfOneRunAndOfSeveralAreWhole) {
  const auto token = b.driver->expose(to_a, {target.data(), target.size()});
  ASSERT_TRUE(token.ok()) << token.status().message();
  EXPECT_TRUE(is_written({{source.data() + 3, kMiB}}, *token));
  EXPECT_TRUE(is_written({{source.data() + kMiB, kMiB / 4}, {source.data(), kMiB / 2}}, *token));
  EXPECT_TRUE(is_written({{source.data(), 10000}, {source.data() + 20000, 9}}, *token));
  b.driver->withdraw(to_a, *token);
}

// Who writes there all the same is cut off.
TEST_F(VerbsWrites, NothingIsWrittenWhereItMayNotBeAnyMore) {
  const auto token = b.driver->expose(to_a, {target.data(), target.size()});
  ASSERT_TRUE(token.ok());
  b.driver->withdraw(to_a, *token);
  const Bytes before = target;
  const Segment segment{source.data(), 1000};
  int context = 0;
  ASSERT_TRUE(a.driver->post_write(to_b, {&segment, 1}, *token, 0, &context).in_progress());
  ASSERT_TRUE(pump([&] { return a.station.disconnected.count(to_b) == 1; }));
  EXPECT_TRUE(target == before);
  EXPECT_EQ(a.station.finished.count(&context), 1u);
  EXPECT_TRUE(a.station.finished_status[&context].error());
}

TEST_F(VerbsWrites, WhereNoMoreMemoryMayBeLockedTheyArriveAllTheSame) {
  if (geteuid() == 0) GTEST_SKIP() << "root may lock any";
  const auto token = b.driver->expose(to_a, {target.data(), target.size()});
  ASSERT_TRUE(token.ok());
  rlimit before{}, none{};
  ASSERT_EQ(getrlimit(RLIMIT_MEMLOCK, &before), 0);
  none.rlim_max = before.rlim_max;
  ASSERT_EQ(setrlimit(RLIMIT_MEMLOCK, &none), 0);
  Bytes more(4096);
  EXPECT_EQ(b.driver->expose(to_a, {more.data(), more.size()}).status().code(),
            StatusCode::kNoMemory);
  EXPECT_TRUE(is_written({{source.data(), kMiB}}, *token));
  EXPECT_EQ(setrlimit(RLIMIT_MEMLOCK, &before), 0);
  b.driver->withdraw(to_a, *token);
}

}  // namespace
}  // namespace mad
