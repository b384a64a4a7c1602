#include "madlike/driver/memory/process_reader.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <vector>

#include "gtest/gtest.h"

namespace mad {
namespace {

constexpr std::uint64_t kWord = 0x0123456789abcdef;

std::vector<std::byte> bytes_of(std::size_t size) {
  std::vector<std::byte> bytes(size);
  for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::byte>(i * 31 + i / 251);
  return bytes;
}

/// The runs of `bytes`, `length` each.
std::vector<Segment> cut(std::vector<std::byte>& bytes, std::size_t length) {
  std::vector<Segment> runs;
  for (std::size_t at = 0; at < bytes.size(); at += length) {
    runs.push_back({bytes.data() + at, std::min(length, bytes.size() - at)});
  }
  return runs;
}

SegmentList list(const std::vector<Segment>& runs) { return {runs.data(), runs.size()}; }

/// Memory of which the second half cannot be touched.
struct HalfForbidden {
  HalfForbidden() {
    EXPECT_NE(bytes, MAP_FAILED);
    EXPECT_EQ(mprotect(static_cast<std::byte*>(bytes) + kHalf, kHalf, PROT_NONE), 0);
  }
  ~HalfForbidden() { munmap(bytes, 2 * kHalf); }
  static constexpr std::size_t kHalf = 65536;
  void* bytes =
      mmap(nullptr, 2 * kHalf, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
};

// A process may always read its own memory.
class ProcessReaderTest : public ::testing::Test {
 protected:
  std::uint64_t word_ = kWord;
  ProcessName self_{static_cast<std::uint64_t>(getpid()), reinterpret_cast<std::uintptr_t>(&word_),
                    kWord};
  ProcessReader reader_;
};

TEST_F(ProcessReaderTest, WhoHasTheWordIsReadable) {
  EXPECT_TRUE(check_readable(self_).ok());
  word_ ^= 1;
  const Status other = check_readable(self_);
  EXPECT_EQ(other.code(), StatusCode::kPeerFailed);
  EXPECT_NE(other.message().find(std::to_string(getpid())), std::string_view::npos);
}

TEST_F(ProcessReaderTest, WhoIsNotThereIsNot) {
  const pid_t child = fork();
  if (child == 0) _exit(0);
  waitpid(child, nullptr, 0);
  self_.pid = static_cast<std::uint64_t>(child);
  const Status why = check_readable(self_);
  EXPECT_EQ(why.code(), StatusCode::kPeerFailed);
  EXPECT_NE(why.message().find(std::strerror(ESRCH)), std::string_view::npos) << why.message();
}

TEST_F(ProcessReaderTest, AWordThatCannotBeReadIsNone) {
  const HalfForbidden memory;
  self_.address = reinterpret_cast<std::uintptr_t>(memory.bytes) + HalfForbidden::kHalf;
  EXPECT_EQ(check_readable(self_).code(), StatusCode::kPeerFailed);
}

TEST_F(ProcessReaderTest, RunsOfEitherSideEndWhereTheyLike) {
  std::vector<std::byte> source = bytes_of(100000);
  for (const std::size_t from : {391u, 4096u, 100000u}) {
    for (const std::size_t to : {500u, 8192u, 100000u}) {
      std::vector<std::byte> target(source.size());
      const std::vector<Segment> sources = cut(source, from), places = cut(target, to);
      reader_.begin(self_.pid, list(sources));
      for (std::size_t at = 0; at < places.size(); at += 7) {
        const std::size_t count = std::min<std::size_t>(7, places.size() - at);
        ASSERT_TRUE(reader_.read({places.data() + at, count}).ok());
      }
      EXPECT_TRUE(target == source) << from << ' ' << to;
    }
  }
}

TEST_F(ProcessReaderTest, EmptyRunsAreNothing) {
  std::vector<std::byte> source = bytes_of(1000), target(1000);
  const std::vector<Segment> sources{{source.data(), 0},
                                     {source.data(), 400},
                                     {source.data(), 0},
                                     {source.data() + 400, 600},
                                     {source.data(), 0}};
  const std::vector<Segment> places{{target.data(), 1000}, {target.data(), 0}};
  reader_.begin(self_.pid, list(sources));
  ASSERT_TRUE(reader_.read(list(places)).ok());
  EXPECT_TRUE(target == source);
}

// The kernel ends a call after 2 GiB.
TEST_F(ProcessReaderTest, MoreThanOneCallTakes) {
  constexpr std::size_t kRun = std::size_t{16} << 20;
  std::vector<std::byte> source = bytes_of(kRun), target(kRun), last(kRun);
  std::vector<Segment> sources(ProcessReader::kMostRuns, {source.data(), kRun - 1});
  std::vector<Segment> places(ProcessReader::kMostRuns, {target.data(), kRun - 1});
  places.back().data = last.data();
  reader_.begin(self_.pid, list(sources));
  ASSERT_TRUE(reader_.read(list(places)).ok());
  target.back() = last.back() = source.back();
  EXPECT_TRUE(target == source);
  EXPECT_TRUE(last == source);
}

TEST_F(ProcessReaderTest, MemoryThatEndsInTheMiddle) {
  const HalfForbidden memory;
  std::vector<std::byte> bytes(2 * HalfForbidden::kHalf);
  const Segment whole{bytes.data(), bytes.size()}, half{memory.bytes, bytes.size()};
  reader_.begin(self_.pid, {&half, 1});
  EXPECT_EQ(reader_.read({&whole, 1}).code(), StatusCode::kPeerFailed);
  reader_.begin(self_.pid, {&whole, 1});
  EXPECT_EQ(reader_.read({&half, 1}).code(), StatusCode::kPeerFailed);
}

TEST_F(ProcessReaderTest, WhoTookItsWordBackIsItNoMore) {
  EXPECT_TRUE(check_is_still(self_).ok());
  word_ = 0;
  EXPECT_EQ(check_is_still(self_).code(), StatusCode::kPeerFailed);
}

TEST_F(ProcessReaderTest, AnotherProcessesMemoryAndItsDeath) {
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  std::vector<std::byte> source(100000), target(source.size());
  const std::vector<std::byte> expected = bytes_of(source.size());
  const pid_t child = fork();
  if (child == 0) {
    source = expected;
    if (write(ready[1], "!", 1) != 1) _exit(1);
    for (;;) pause();
  }
  close(ready[1]);
  char word = 0;
  EXPECT_EQ(read(ready[0], &word, 1), 1);
  close(ready[0]);
  self_.pid = static_cast<std::uint64_t>(child);
  const Segment from{source.data(), source.size()}, to{target.data(), target.size()};
  reader_.begin(self_.pid, {&from, 1});
  const Status read = reader_.read({&to, 1});
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  EXPECT_TRUE(read.ok()) << read.message();
  EXPECT_TRUE(target == expected);
  reader_.begin(self_.pid, {&from, 1});
  EXPECT_EQ(reader_.read({&to, 1}).code(), StatusCode::kPeerFailed);
}

TEST(ListedRunsTest, AreThoseThatThePeerWroteDown) {
  std::vector<std::byte> bytes = bytes_of(1000);
  const std::vector<Segment> written = cut(bytes, 300);
  ListedRuns listed;
  ASSERT_TRUE(listed.take({const_cast<Segment*>(written.data()), written.size() * sizeof(Segment)},
                          bytes.size()));
  ASSERT_EQ(listed.runs().count, 4u);
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(listed.runs().first[i].data, written[i].data);
    EXPECT_EQ(listed.runs().first[i].size, written[i].size);
  }
}

TEST(ListedRunsTest, ThatNoEngineWritesAreRefused) {
  std::vector<Segment> written(ProcessReader::kMostRuns + 1, {nullptr, 10});
  ListedRuns listed;
  const auto takes = [&](std::size_t list_bytes, std::size_t most) {
    return listed.take({written.data(), list_bytes}, most);
  };
  constexpr std::size_t kAll = ProcessReader::kMostRuns * sizeof(Segment);
  EXPECT_TRUE(takes(kAll, 10 * ProcessReader::kMostRuns));
  EXPECT_FALSE(takes(kAll, 10 * ProcessReader::kMostRuns - 1)) << "more bytes than a write has";
  EXPECT_FALSE(takes(kAll + sizeof(Segment), 1 << 20)) << "too many";
  EXPECT_FALSE(takes(0, 1 << 20)) << "none";
  EXPECT_FALSE(takes(2 * sizeof(Segment) - 1, 1 << 20)) << "part of one";
  written[1].size = ~std::size_t{0} - 5;
  EXPECT_FALSE(takes(3 * sizeof(Segment), 1 << 20)) << "a sum that wraps";
}

}  // namespace
}  // namespace mad
