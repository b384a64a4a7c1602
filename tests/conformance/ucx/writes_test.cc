// Writes beyond what a peer was allowed to write: nothing is touched, and the peer is sent away.
#include "tests/conformance/ucx/engine.h"

namespace mad {
namespace {

struct NoRuns : ScatteredMemory {
  std::size_t runs(std::uint64_t, std::uint64_t, Segment*, std::size_t) override { return 0; }
};

class UcxWrites : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    to_a_ = b_.connect(a_);
    c_.connect(a_);
    ASSERT_TRUE(pump(all_, [&] { return a_.station.connected.size() == 2; }));
    from_b_ = a_.connect(b_);
    const auto exposed = a_.driver->expose(from_b_, {memory_.data() + 16, 8});
    ASSERT_TRUE(exposed.ok());
    token_ = *exposed;
  }
  /// b writes `size` bytes.
  Status write(const ExposureToken& token, std::uint64_t offset, std::size_t size) {
    const Segment segment{bytes_.data(), size};
    return b_.driver->post_write(to_a_, {&segment, 1}, token, offset, nullptr);
  }
  void expect_refused(const ExposureToken& token, std::uint64_t offset, std::size_t size,
                      StatusCode code = StatusCode::kProtocol) {
    ASSERT_FALSE(write(token, offset, size).error());
    const Segment behind{bytes_.data(), 8};
    ASSERT_FALSE(b_.driver->post_send(to_a_, {&behind, 1}, nullptr).error());
    ASSERT_TRUE(pump(all_, [&] { return a_.station.disconnected.count(from_b_) == 1; }));
    EXPECT_EQ(a_.station.disconnected[from_b_].code(), code);
    EXPECT_EQ(memory_, Bytes(64, std::byte{0}));
    EXPECT_TRUE(a_.station.received.empty()) << "nothing is taken from who wrote that";
  }

  Bytes memory_ = Bytes(64, std::byte{0});
  Bytes bytes_ = Bytes(64, std::byte{1});
  const UcxOptions options_ = on_lo(GetParam());
  UcxEngine a_{options_}, b_{options_}, c_{options_};
  const std::vector<UcxEngine*> all_{&a_, &b_, &c_};
  ConnectionId to_a_ = 0, from_b_ = 0;
  ExposureToken token_;
};

TEST_P(UcxWrites, AllOfIt) {
  ASSERT_FALSE(write(token_, 0, 8).error());
  ASSERT_TRUE(pump(all_, [&] { return memory_[23] == std::byte{1}; }));
  EXPECT_EQ(memory_[15], std::byte{0});
  EXPECT_EQ(memory_[16], std::byte{1});
  EXPECT_EQ(memory_[24], std::byte{0});
}

TEST_P(UcxWrites, AKeyThatIsNot) { expect_refused({token_.address, token_.key + 1}, 0, 8); }

TEST_P(UcxWrites, AnotherPeersKey) {
  const auto others = a_.driver->expose(a_.connect(c_), {memory_.data(), 8});
  ASSERT_TRUE(others.ok());
  expect_refused(*others, 0, 8);
}

TEST_P(UcxWrites, BehindTheEnd) { expect_refused(token_, 8, 1); }
TEST_P(UcxWrites, OverTheEnd) { expect_refused(token_, 1, 8); }
TEST_P(UcxWrites, BeforeTheBegin) { expect_refused(token_, ~std::uint64_t{0}, 2); }

TEST_P(UcxWrites, AfterItWasWithdrawn) {
  a_.driver->withdraw(from_b_, token_);
  expect_refused(token_, 0, 8);
}

TEST_P(UcxWrites, MemoryThatListsNothing) {
  NoRuns none;
  const auto exposed = a_.driver->expose_scattered(from_b_, none, 0, 8);
  ASSERT_TRUE(exposed.ok());
  expect_refused(*exposed, 0, 8, StatusCode::kPeerFailed);
  a_.driver->withdraw(from_b_, *exposed);
}

INSTANTIATE_TEST_SUITE_P(Ucx, UcxWrites, ::testing::Values("ucx:posix", "ucx:tcp", "ucx:posix,cma"),
                         transports_name);

}  // namespace
}  // namespace mad
