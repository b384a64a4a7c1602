// Engines with several fabrics: which one carries what, also between engines whose lists differ.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <cstdlib>
#include <string>

#include "tests/engine/node.h"

namespace mad::test {
namespace {

/// The number of the one fabric that carried more than 100 KB, or -1.
int carrier(Node& node) {
  int found = -1;
  mad_fabric_counters counters;
  for (int i = 0; mad_engine_fabric_counters(node.engine(), i, &counters) == MAD_SUCCESS; ++i) {
    if (counters.bytes_sent < 100000) continue;
    EXPECT_EQ(found, -1);
    found = i;
  }
  return found;
}

/// 150 KB each way, in blocks, both sides at once; whole?
void talk(Node& a, Node& b, std::size_t block = 100) {
  const TypeHandle type = blocks(150000 / block, block, static_cast<std::int64_t>(2 * block));
  const Bytes sent = pattern(300000, 3);
  Bytes received[2] = {Bytes(300000), Bytes(300000)};
  Operation sends[2], receives[2];
  Node* const nodes[2] = {&a, &b};
  for (int i = 0; i < 2; ++i) {
    nodes[i]->send(nodes[i]->peer(*nodes[1 - i]), "x", sent.data(), 1, type.get(), MAD_PATH_AUTO,
                   &sends[i]);
  }
  ASSERT_TRUE(progress_until({&a, &b}, [&] { return !a.arrivals.empty() && !b.arrivals.empty(); }));
  for (int i = 0; i < 2; ++i) {
    nodes[i]->receive(nodes[i]->take().incoming, received[i].data(), 1, type.get(), MAD_PATH_AUTO,
                      &receives[i]);
  }
  ASSERT_TRUE(progress_until({&a, &b}, [&] {
    return sends[0].done && sends[1].done && receives[0].done && receives[1].done;
  }));
  for (const Bytes& got : received) {
    for (std::size_t i = 0; i < got.size(); ++i) {
      ASSERT_EQ(got[i], i % (2 * block) < block ? sent[i] : std::byte{}) << i;
    }
  }
  EXPECT_TRUE(a.departures.empty());
  EXPECT_TRUE(b.departures.empty());
}

TEST(Lists, TheFirstThatReachesAPeerCarriesAll) {
  Node a("ucx:posix;tcp"), b("ucx:posix;tcp");
  talk(a, b);
  EXPECT_EQ(carrier(a), 0);
  EXPECT_EQ(carrier(b), 0);
  EXPECT_STREQ(mad_peer_fabric(a.engine(), a.peer(b)), "ucx:posix");
  close_together({&a, &b});
}

TEST(Lists, WithoutMemoryForTheFirstTheNextIsTaken) {
  Node a("shm;tcp"), b("shm;tcp");
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  const rlimit little{128 * 1024, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &little), 0);
  testing::internal::CaptureStderr();
  talk(a, b);
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
  EXPECT_EQ(carrier(a), 1);
  EXPECT_EQ(carrier(b), 1);
  EXPECT_NE(said.find("shm: no shared memory with process"), std::string::npos) << said;
  close_together({&a, &b});
}

TEST(Lists, WhatThePeerHasNotIsPassedOver) {
  Node a("ucx:posix;ofi:tcp;tcp"), b("tcp");
  talk(a, b);
  EXPECT_EQ(carrier(a), 2);
  EXPECT_EQ(carrier(b), 0);
  EXPECT_STREQ(mad_peer_fabric(a.engine(), a.peer(b)), "tcp");
  close_together({&a, &b});
}

// Both connect at once.
TEST(Lists, OtherPreferencesMeetOnOneFabric) {
  for (int i = 0; i < 6; ++i) {
    Node a("ofi:tcp;tcp"), b("tcp;ofi:tcp");
    talk(a, b);
    EXPECT_EQ(carrier(a), 1 - carrier(b)) << "their lists are in opposite order";
    EXPECT_STREQ(mad_peer_fabric(a.engine(), a.peer(b)), mad_peer_fabric(b.engine(), b.peer(a)));
    close_together({&a, &b});
  }
}

TEST(Lists, EachPeerHasAFabricOfItsOwn) {
  Node hub("ucx:posix;ofi:tcp;tcp"), near("ucx:posix"), far("tcp");
  talk(hub, near);
  talk(hub, far);
  EXPECT_STREQ(mad_peer_fabric(hub.engine(), hub.peer(near)), "ucx:posix");
  EXPECT_STREQ(mad_peer_fabric(hub.engine(), hub.peer(far)), "tcp");
  close_together({&hub, &near, &far});
}

// Blocks that are sent from where they are in shared memory, but not over TCP.
TEST(Lists, EachPeerHasThePricesOfItsLink) {
  Node hub("ucx"), near("ucx");
  setenv("MAD_UCX_POSIX_DIR", "/nonexistent", 1);  // no shared memory
  Node far("ucx");
  unsetenv("MAD_UCX_POSIX_DIR");
  const auto sends = [&hub](mad_path path) {
    return mad_engine_counters(hub.engine())->sends[path];
  };
  for (Node* const peer : {&near, &far}) {
    talk(hub, *peer);  // before they have spoken nobody knows what link it is
    const std::uint64_t gathered = sends(MAD_PATH_GATHER), staged = sends(MAD_PATH_PIPELINE);
    talk(hub, *peer, 5000);
    EXPECT_EQ(sends(MAD_PATH_GATHER) - gathered, peer == &near ? 1u : 0u);
    EXPECT_EQ(sends(MAD_PATH_PIPELINE) - staged, peer == &near ? 0u : 1u);
  }
  close_together({&hub, &near, &far});
}

TEST(Lists, NothingInCommonIsSaid) {
  Node a("ofi:tcp;tcp"), b("ucx:posix");
  const auto address = b.address();
  mad_peer* peer = nullptr;
  EXPECT_EQ(mad_engine_peer(a.engine(), address.data(), address.size(), &peer),
            MAD_ERR_UNREACHABLE);
  EXPECT_STREQ(mad_last_error(),
               "no fabric reaches it: its address is on 'ucx:posix', this engine on 'ofi:tcp;tcp'");
}

}  // namespace
}  // namespace mad::test
