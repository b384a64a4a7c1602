// Strangers who want their memory read, or answer who did not want that.
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "tests/conformance/ucx/stranger.h"

namespace mad {
namespace {

// A stranger with memory of its own, over shared memory.
class UcxReadStrangers : public UcxStrangers {
 protected:
  UcxReadStrangers() : UcxStrangers(on_lo("ucx:posix,cma,tcp")) {}
  /// Connects as a process with this word; true: the engine says that it reads our memory.
  bool connect_with(std::uint64_t word) {
    stranger_.offer.process = {static_cast<std::uint64_t>(getpid()),
                               reinterpret_cast<std::uintptr_t>(&word_), word};
    stranger_.connect_by_posix(side_);
    return side_.messages.at(0).bytes[UcxHeader::kTagBytes] == std::byte{1};
  }
  /// Asks for a write of these runs, where the engine let us write.
  void ask(const std::vector<Segment>& runs, std::size_t less_bytes = 0) {
    const auto token =
        engine_.driver->expose(stranger_.connection, {target_.data(), target_.size()});
    ASSERT_TRUE(token.ok());
    const Segment list{const_cast<Segment*>(runs.data()),
                       runs.size() * sizeof(Segment) - less_bytes};
    ASSERT_EQ(
        side_.lane->send(side_.endpoint.get(), UcxMessage::kPull,
                         {stranger_.offer.tag, token->key, 0}, {&list, 1}, list.size, nullptr),
        UCS_OK);
  }

  std::uint64_t word_ = 4711;
  Side side_{UcxTransport::kPosix};
  Bytes source_ = pattern(1000), target_ = Bytes(1 << 20);
};

TEST_F(UcxReadStrangers, WithTheirWordAreRead) {
  ASSERT_TRUE(connect_with(word_));
  ask({{source_.data(), 400}, {source_.data(), 0}, {source_.data() + 400, 600}});
  ASSERT_TRUE(pump({&engine_}, [&] {
    side_.progress();
    return side_.messages.size() == 2;
  }));
  EXPECT_EQ(side_.messages[1].kind, UcxMessage::kPulled);
  std::uint64_t count = 0;
  ASSERT_EQ(side_.messages[1].bytes.size(), UcxHeader::kTagBytes + sizeof(count));
  std::memcpy(&count, &side_.messages[1].bytes[UcxHeader::kTagBytes], sizeof(count));
  EXPECT_EQ(count, 1u);
  EXPECT_TRUE(std::equal(source_.begin(), source_.end(), target_.begin()));
}

// As of a process that is another one by that number here, or may not be read.
TEST_F(UcxReadStrangers, WithoutTheirWordAreNot) {
  testing::internal::CaptureStderr();
  EXPECT_FALSE(connect_with(word_ + 1));
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 1) << said;
  EXPECT_NE(said.find("no cma with"), std::string::npos) << said;
  ask({{source_.data(), source_.size()}});
  stranger_.expect_end(StatusCode::kProtocol);
  EXPECT_EQ(target_, Bytes(target_.size()));
}

TEST_F(UcxReadStrangers, WhoseWordGoesAreReadNoMore) {
  ASSERT_TRUE(connect_with(word_));
  word_ = 0;
  ask({{source_.data(), source_.size()}});
  stranger_.expect_end(StatusCode::kPeerFailed);
}

TEST_F(UcxReadStrangers, OfNoRun) {
  ASSERT_TRUE(connect_with(word_));
  ask({});
  stranger_.expect_end(StatusCode::kProtocol);
}

TEST_F(UcxReadStrangers, OfHalfARun) {
  ASSERT_TRUE(connect_with(word_));
  ask({{source_.data(), source_.size()}}, 8);
  stranger_.expect_end(StatusCode::kProtocol);
}

TEST_F(UcxReadStrangers, OfTooManyRuns) {
  ASSERT_TRUE(connect_with(word_));
  ask(std::vector<Segment>(ProcessReader::kMostRuns + 1, Segment{source_.data(), 1}));
  stranger_.expect_end(StatusCode::kProtocol);
}

TEST_F(UcxReadStrangers, OfTooManyBytes) {
  ASSERT_TRUE(connect_with(word_));
  const std::size_t most = engine_.driver->link(stranger_.connection).max_write_bytes;
  ask({{source_.data(), 1}, {source_.data(), most}});
  stranger_.expect_end(StatusCode::kProtocol);
}

TEST_F(UcxReadStrangers, OfMoreThanThereIs) {
  ASSERT_TRUE(connect_with(word_));
  ask({{source_.data(), 1}, {source_.data(), ~std::size_t{0}}});
  stranger_.expect_end(StatusCode::kProtocol);
}

TEST_F(UcxReadStrangers, WhoAnswerWhatNobodyAsked) {
  ASSERT_TRUE(connect_with(word_));
  stranger_.send(side_, UcxMessage::kPulled);
  stranger_.expect_end(StatusCode::kProtocol);
}

// Hellos say whether their sender reads.
TEST_F(UcxReadStrangers, ReadIfTheirHelloSaysSo) {
  ASSERT_TRUE(connect_with(word_));
  const std::size_t least = engine_.driver->caps().nearest().max_write_bytes;
  for (std::size_t i = 0; i < UcxLane::kPlaces; ++i) {
    stranger_.send_bare(side_, UcxMessage::kHello, UcxHeader::kTagBytes + 1);
  }
  ASSERT_TRUE(pump({&engine_}, [&] {
    return engine_.driver->link(stranger_.connection).max_write_bytes > least;
  }));
  // One that does not say it, where others stood that did.
  stranger_.send_bare(side_, UcxMessage::kHello, UcxHeader::kTagBytes);
  ASSERT_TRUE(pump({&engine_}, [&] {
    return engine_.driver->link(stranger_.connection).max_write_bytes == least;
  }));
}

TEST_F(UcxReadStrangers, ReadNothingOverTcp) {
  Side side(UcxTransport::kTcp);
  stranger_.connect_by_tcp(side);
  EXPECT_EQ(engine_.driver->link(stranger_.connection).max_write_bytes,
            engine_.driver->caps().links.back().max_write_bytes);
}

}  // namespace
}  // namespace mad
