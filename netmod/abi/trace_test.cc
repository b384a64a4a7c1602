// What a traced engine writes, and that nothing goes wrong where it cannot write.
#include "netmod/abi/trace.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "netmod/abi/mad.h"
#include "tests/engine/node.h"

namespace mad {
namespace {

using test::Node;
using test::Operation;

// A row of a summary as it was written.
struct Row {
  std::string group, way;
  std::uint64_t messages = 0, bytes = 0, staged = 0, referenced = 0, packets = 0, done = 0;
  std::uint64_t at_once = 0;
  std::string predicted, measured;
  std::string rest;  // the error, the type, the paths
};

class Traced : public ::testing::Test {
 protected:
  void SetUp() override {
    file_ = ::testing::TempDir() + "/trace." + std::to_string(::getpid());
    ::unlink(file_.c_str());
    ask_for(::testing::TempDir() + "/trace.%p");
  }
  void TearDown() override {
    ::unsetenv("MAD_TRACE");
    ::unlink(file_.c_str());
  }

  static void ask_for(const std::string& value) { ::setenv("MAD_TRACE", value.c_str(), 1); }

  std::vector<std::string> lines() const {
    std::ifstream file(file_);
    std::vector<std::string> out;
    for (std::string line; std::getline(file, line);) out.push_back(line);
    return out;
  }

  /// The decisions among them.
  std::vector<std::string> decisions() const {
    std::vector<std::string> out;
    for (const std::string& line : lines()) {
      if (line.find(" us send group ") != std::string::npos ||
          line.find(" us recv group ") != std::string::npos) {
        out.push_back(line);
      }
    }
    return out;
  }

  /// The rows of all summaries.
  std::vector<Row> rows() const {
    std::vector<Row> out;
    bool in_table = false;
    for (const std::string& line : lines()) {
      const bool heading = line.find("type: paths") != std::string::npos;
      if (in_table && !heading && line.find("summary of") == std::string::npos) {
        Row row;
        std::string mad, id;
        std::istringstream in(line);
        in >> mad >> id >> row.group >> row.way >> row.messages >> row.bytes >> row.staged >>
            row.referenced >> row.packets >> row.done >> row.at_once >> row.predicted >>
            row.measured;
        EXPECT_FALSE(in.fail()) << line;
        EXPECT_EQ(mad + " " + id, "mad " + std::to_string(::getpid()) + ":");
        std::getline(in, row.rest);
        out.push_back(row);
      }
      in_table = in_table || heading;
    }
    return out;
  }

  std::string file_;
};

struct Exchange {
  Node from{"loopback"};
  Node to{"loopback"};

  /// One message of `count` elements, received into equal memory; in groups 7 and 8.
  void message(std::uint64_t count, const mad_type* type, std::uint64_t extent, mad_path path) {
    std::vector<char> source(count * extent, 's'), target(count * extent);
    Operation sent, received;
    sent.slot.group = 7;
    received.slot.group = 8;
    from.send(from.peer(to), "h", source.data(), count, type, path, &sent);
    ASSERT_TRUE(test::progress_until({&from, &to}, [&] { return !to.arrivals.empty(); }));
    to.receive(to.take().incoming, target.data(), count, type, path, &received);
    ASSERT_TRUE(test::progress_until({&from, &to}, [&] { return sent.done && received.done; }));
    ASSERT_EQ(sent.status, MAD_SUCCESS);
    ASSERT_EQ(received.status, MAD_SUCCESS);
  }
  void close() { test::close_together({&from, &to}); }
};

TEST_F(Traced, LinesSayWhatWasDecidedAndWhy) {
  Exchange pair;
  const test::TypeHandle blocks = test::blocks(1000, 64, 128);
  pair.message(2, blocks.get(), 128000, MAD_PATH_AUTO);
  pair.message(500, nullptr, 1, MAD_PATH_GATHER);
  pair.close();
  const std::vector<std::string> said = decisions();
  ASSERT_EQ(said.size(), 4u);
  EXPECT_NE(said[0].find("send group 7 peer 0: 2 x vector(1000 x "), std::string::npos) << said[0];
  EXPECT_NE(said[0].find("stride 128), 128000 bytes, auto -> pipeline, predicted "),
            std::string::npos)
      << said[0];
  EXPECT_NE(said[0].find(" us: all runs are short"), std::string::npos) << said[0];
  EXPECT_NE(said[1].find("recv group 8 peer 0: 2 x vector("), std::string::npos) << said[1];
  EXPECT_EQ(said[1].find("predicted"), std::string::npos) << said[1];
  EXPECT_NE(said[2].find("500 x byte, 500 bytes, gather -> contiguous"), std::string::npos)
      << said[2];
}

TEST_F(Traced, SummariesAgreeWithTheCounters) {
  Exchange pair;
  const test::TypeHandle blocks = test::blocks(1000, 64, 128);
  for (int i = 0; i < 3; ++i) pair.message(2, blocks.get(), 128000, MAD_PATH_PIPELINE);
  pair.message(2, blocks.get(), 128000, MAD_PATH_GATHER);
  pair.message(500, nullptr, 1, MAD_PATH_OFF);
  const mad_counters sent = pair.from.counters();
  pair.close();
  std::vector<Row> sends, receives;
  for (const Row& row : rows()) (row.way == "send" ? sends : receives).push_back(row);
  ASSERT_EQ(sends.size(), 2u);
  ASSERT_EQ(receives.size(), 2u);
  EXPECT_EQ(sends[0].messages, sent.sends[MAD_PATH_OFF]);
  EXPECT_EQ(sends[0].bytes, sent.send_bytes[MAD_PATH_OFF]);
  EXPECT_NE(sends[0].rest.find("byte: off 1"), std::string::npos) << sends[0].rest;
  const Row& layouts = sends[1];
  EXPECT_EQ(layouts.messages, sent.sends[MAD_PATH_PIPELINE] + sent.sends[MAD_PATH_GATHER]);
  EXPECT_EQ(layouts.messages, 4u);
  EXPECT_EQ(layouts.bytes, sent.send_bytes[MAD_PATH_PIPELINE] + sent.send_bytes[MAD_PATH_GATHER]);
  EXPECT_NE(layouts.rest.find("gather 1, pipeline 3"), std::string::npos) << layouts.rest;
  EXPECT_EQ(layouts.referenced, 128000u);
  EXPECT_EQ(layouts.staged, 3u * 128000);
  EXPECT_EQ(layouts.staged + sends[0].staged, sent.staged_bytes) << "plans and what was done";
  EXPECT_EQ(layouts.referenced + sends[0].referenced, sent.referenced_bytes);
  EXPECT_GE(layouts.packets, 4u);
  EXPECT_EQ(layouts.done, 4u);
  EXPECT_LE(layouts.at_once, 4u);
  EXPECT_GT(std::stod(layouts.predicted), 0);
  EXPECT_GT(std::stod(layouts.measured), 0);
  EXPECT_NE(layouts.rest.find(" %"), std::string::npos);
  for (const Row& row : receives) {
    EXPECT_EQ(row.group, "8");
    EXPECT_EQ(row.done, row.messages);
    EXPECT_EQ(row.predicted, "-");
    EXPECT_GT(std::stod(row.measured), 0);
    EXPECT_EQ(row.rest.find('%'), std::string::npos);
  }
}

TEST_F(Traced, SendsThatFailAreNotDone) {
  Exchange pair;
  const std::vector<char> data(300000, 'x');
  Operation sent;
  pair.from.send(pair.from.peer(pair.to), "h", data.data(), data.size(), nullptr, MAD_PATH_AUTO,
                 &sent);
  ASSERT_TRUE(
      test::progress_until({&pair.from, &pair.to}, [&] { return !pair.to.arrivals.empty(); }));
  pair.close();
  ASSERT_NE(sent.status, MAD_SUCCESS);
  const std::vector<Row> all = rows();
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].messages, 1u);
  EXPECT_EQ(all[0].done, 0u);
  EXPECT_EQ(all[0].measured, "-");
}

TEST_F(Traced, NobodyAskedOrNobodyCanWrite) {
  ::unsetenv("MAD_TRACE");
  EXPECT_EQ(Trace::from_environment("tcp"), nullptr);
  ask_for("");
  EXPECT_EQ(Trace::from_environment("tcp"), nullptr);
  ask_for("/no/such/directory/trace");
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(Trace::from_environment("tcp"), nullptr);
  const std::string said = ::testing::internal::GetCapturedStderr();
  EXPECT_NE(said.find("/no/such/directory/trace (MAD_TRACE): No such file"), std::string::npos);
  EXPECT_EQ(said.find('\n'), said.size() - 1);
}

TEST_F(Traced, AFullDiskEndsTheTraceAndNothingElse) {
  ask_for("/dev/full");
  ::testing::internal::CaptureStderr();
  {
    Exchange pair;
    pair.message(500, nullptr, 1, MAD_PATH_AUTO);
    pair.message(500, nullptr, 1, MAD_PATH_AUTO);
    pair.close();
  }
  const std::string said = ::testing::internal::GetCapturedStderr();
  std::size_t lines = 0;
  for (const char c : said) lines += c == '\n' ? 1 : 0;
  EXPECT_EQ(lines, 2u) << "one for each engine: " << said;
  EXPECT_NE(said.find("No space left"), std::string::npos);
}

// As where it goes to a program that has seen enough.
TEST_F(Traced, AReaderThatLeavesEndsTheTraceAndNothingElse) {
  ASSERT_EQ(::mkfifo(file_.c_str(), 0600), 0);
  const int reader = ::open(file_.c_str(), O_RDONLY | O_NONBLOCK);
  ASSERT_GE(reader, 0);
  ::testing::internal::CaptureStderr();
  {
    Exchange pair;
    pair.message(500, nullptr, 1, MAD_PATH_AUTO);
    ::close(reader);
    pair.message(500, nullptr, 1, MAD_PATH_AUTO);
    pair.close();
  }
  EXPECT_NE(::testing::internal::GetCapturedStderr().find("Broken pipe"), std::string::npos);
  sigset_t pending;
  sigpending(&pending);
  EXPECT_EQ(sigismember(&pending, SIGPIPE), 0);
}

TEST_F(Traced, StandardErrorWillDo) {
  for (const char* name : {"-", "stderr"}) {
    ask_for(name);
    ::testing::internal::CaptureStderr();
    std::unique_ptr<Trace> trace = Trace::from_environment("wire");
    ASSERT_NE(trace, nullptr);
    trace->summarize();
    trace.reset();
    const std::string said = ::testing::internal::GetCapturedStderr();
    EXPECT_NE(said.find("summary of fabric wire"), std::string::npos);
  }
}

TEST_F(Traced, MemoryIsBounded) {
  std::unique_ptr<Trace> trace = Trace::from_environment("wire");
  Trace::Decision decision;
  decision.bytes = 10;
  constexpr std::uint64_t kGroups = Trace::kMaxRows + 5;
  for (std::uint64_t turn = 0; turn < 2; ++turn) {
    for (std::uint64_t group = 0; group < kGroups; ++group) {
      decision.group = group;
      decision.way = turn == 0 ? Trace::Way::kSend : Trace::Way::kReceive;
      trace->done(trace->decided(decision), false);
    }
  }
  trace->summarize();
  const std::vector<Row> all = rows();
  ASSERT_EQ(all.size(), Trace::kMaxRows + 2);
  const Row& sends = all[Trace::kMaxRows];
  EXPECT_EQ(sends.group + " " + sends.way, "others send");
  EXPECT_EQ(sends.messages, 5u);
  EXPECT_EQ(sends.bytes, 50u);
  EXPECT_EQ(sends.done, 5u);
  EXPECT_EQ(all.back().group + " " + all.back().way, "others recv");
  EXPECT_EQ(all.back().messages, kGroups);
}

}  // namespace
}  // namespace mad
