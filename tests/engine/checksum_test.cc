// Checksums end to end: every payload byte of a sender that has them on is checked, on every fabric
// and path, and bytes that are not those that were summed fail their receive alone.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "tests/engine/node.h"

namespace mad::test {
namespace {

class Checksum : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    for (const bool on : {false, true}) {
      const auto tune = [=](mad_config& config) { config.checksum = on ? 1 : 0; };
      nodes.push_back(std::make_unique<Node>(GetParam(), tune));
    }
  }
  void TearDown() override { close_together({nodes[0].get(), nodes[1].get()}); }
  bool wait(const std::function<bool()>& reached) {
    return progress_until({nodes[0].get(), nodes[1].get()}, reached);
  }

  std::vector<std::unique_ptr<Node>> nodes;  // without, and with
};

TEST_P(Checksum, TheSenderDecides) {
  const TypeHandle gapped = blocks(1, 8, 16);
  for (const std::uint64_t count : {1u, 100u, 10000u, 300000u}) {
    for (const mad_path path : {MAD_PATH_AUTO, MAD_PATH_GATHER, MAD_PATH_PIPELINE}) {
      for (const std::size_t sender : {0u, 1u}) {
        Node &from = *nodes[sender], &to = *nodes[1 - sender];
        const std::uint64_t checked = to.counters().checked_bytes;
        const std::uint64_t written = from.counters().written_bytes;
        const Bytes data = pattern(8 * count, static_cast<unsigned>(count));
        Bytes got(data.size());
        Operation sent, received;
        to.on_arrival = [&](const Arrival& arrival) {
          to.receive(arrival.incoming, got.data(), count, gapped.get(), path, &received);
        };
        from.send(from.peer(to), "x", data.data(), count, gapped.get(), path, &sent);
        ASSERT_TRUE(wait([&] { return sent.done && received.done; }));
        EXPECT_EQ(received.status, MAD_SUCCESS) << mad_last_error();
        EXPECT_TRUE(got == data) << count << " by " << mad_path_name(path);
        EXPECT_EQ(to.counters().checked_bytes - checked, sender == 1 ? 8 * count : 0);
        if (sender == 1) {
          EXPECT_EQ(from.counters().written_bytes, written);
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Fabrics, Checksum, ::testing::ValuesIn(kFabrics), fabric_test_name);

// The sender's memory changes between the sum and the system's copy of it, which is when the socket
// takes more.
TEST(ChecksumOfChangingMemory, FailsItsReceiveAlone) {
  const auto on = [](mad_config& config) { config.checksum = 1; };
  Node a("tcp", on), b("tcp");
  mad_peer* const to_b = a.peer(b);
  Bytes data = pattern(std::size_t{48} << 20), got(data.size());
  Operation sent, received;
  b.on_arrival = [&](const Arrival& arrival) {
    b.receive(arrival.incoming, got.data(), got.size(), nullptr, MAD_PATH_AUTO, &received);
  };
  a.send(to_b, "x", data.data(), data.size(), nullptr, MAD_PATH_AUTO, &sent);
  const auto done = [&] {
    for (int i = 0; i < 20; ++i) a.progress();  // until the socket is full
    for (std::size_t at = 0; at < data.size(); at += 4096) data[at] ^= std::byte{1};
    return sent.done && received.done;
  };
  ASSERT_TRUE(progress_until({&a, &b}, done));
  EXPECT_EQ(received.status, MAD_ERR_CORRUPT);
  EXPECT_NE(std::string(mad_last_error()).find("CRC32C"), std::string::npos) << mad_last_error();
  EXPECT_EQ(sent.status, MAD_SUCCESS);
  EXPECT_EQ(received.callbacks, 1);

  Operation sent_then, received_then;
  b.on_arrival = [&](const Arrival& arrival) {
    b.receive(arrival.incoming, got.data(), got.size(), nullptr, MAD_PATH_AUTO, &received_then);
  };
  a.send(to_b, "y", data.data(), data.size(), nullptr, MAD_PATH_AUTO, &sent_then);
  ASSERT_TRUE(progress_until({&a, &b}, [&] { return sent_then.done && received_then.done; }));
  EXPECT_EQ(received_then.status, MAD_SUCCESS);
  EXPECT_TRUE(got == data);
  EXPECT_TRUE(a.departures.empty() && b.departures.empty());
  close_together({&a, &b});
}

}  // namespace
}  // namespace mad::test
