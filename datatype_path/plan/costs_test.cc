#include "datatype_path/plan/costs.h"

#include "gtest/gtest.h"

namespace mad {
namespace {

LinkCaps caps_with(std::size_t max_iov) {
  LinkCaps caps;
  caps.max_iov = max_iov;
  caps.max_packet_bytes = std::size_t{1} << 20;
  return caps;
}

TEST(Costs, copies_are_in_proportion_between_known_lengths) {
  Costs costs;
  for (std::size_t k = 0; k < Costs::kLengths; ++k) {
    costs.copy_ns[k] = static_cast<double>(10 * (k + 1));
  }
  EXPECT_DOUBLE_EQ(costs.copy(0), 10);
  EXPECT_DOUBLE_EQ(costs.copy(1), 10);
  EXPECT_DOUBLE_EQ(costs.copy(2), 20);
  EXPECT_DOUBLE_EQ(costs.copy(3), 25);
  EXPECT_DOUBLE_EQ(costs.copy(4096), 130);
  EXPECT_DOUBLE_EQ(costs.copy(6144), 135);
  EXPECT_DOUBLE_EQ(costs.copy(65536), 170);
  EXPECT_DOUBLE_EQ(costs.copy(3 * 65536), 510);
}

TEST(Costs, default_ones_are_positive_and_grow_with_the_length) {
  for (const char* fabric :
       {"tcp", "shm", "ofi:tcp", "ucx:tcp", "ucx:posix", "loopback", "what is this"}) {
    const Costs costs = default_costs(fabric);
    for (const double ns : {costs.message_ns, costs.byte_ns, costs.packet_ns, costs.segment_ns,
                            costs.place_ns, costs.page_ns, costs.copy_ns[0]}) {
      EXPECT_GT(ns, 0) << fabric;
    }
    for (std::size_t k = 1; k < Costs::kLengths; ++k) {
      EXPECT_GT(costs.copy_ns[k], costs.copy_ns[k - 1]) << fabric << " 2^" << k;
    }
  }
}

TEST(RunLimits, follow_the_prices) {
  Costs costs;
  for (std::size_t k = 0; k < Costs::kLengths; ++k) {
    costs.copy_ns[k] = 0.1 * static_cast<double>(std::size_t{1} << k);
  }
  costs.segment_ns = 200;
  costs.place_ns = 100;
  const RunLimits free_packets = run_limits(costs, caps_with(1024));
  EXPECT_NEAR(static_cast<double>(free_packets.send), 2000, 250);
  EXPECT_EQ(free_packets.send_alone, free_packets.send);
  EXPECT_NEAR(static_cast<double>(free_packets.place), 1000, 125);

  costs.packet_ns = 5000;  // (200 + 5000 / 3) / (0.1 + 5000 / 64 KiB) bytes
  EXPECT_NEAR(static_cast<double>(run_limits(costs, caps_with(4)).send), 10590, 1330);
  EXPECT_LT(run_limits(costs, caps_with(1024)).send, free_packets.send);
}

// What is known from measuring whole messages: on our tcp driver rows of 2 KiB are better sent and
// received in place, on libfabric's, of four segments, 4 KiB and 8 KiB are better copied.
TEST(RunLimits, of_fabrics_that_nobody_measured) {
  LinkCaps tcp = caps_with(256);
  tcp.max_packet_bytes = 263168;
  const RunLimits wide = run_limits(default_costs("tcp"), tcp);
  for (const std::size_t limit : {wide.send, wide.place}) {
    EXPECT_LE(limit, 2048u);
    EXPECT_GT(limit, 1024u);
  }
  LinkCaps ofi = caps_with(4);
  ofi.max_packet_bytes = 66560;
  const RunLimits narrow = run_limits(default_costs("ofi:tcp"), ofi);
  EXPECT_GT(narrow.send, 8192u);
  EXPECT_LE(narrow.send, 16384u);
}

// Likewise: over UCX's shared memory a run of 4 KiB is better referenced, alone and among many, and
// over its tcp rows of 8 KiB are better copied, of 16 KiB as well as.
TEST(RunLimits, of_ucx) {
  LinkCaps posix = caps_with(256);
  posix.max_packet_bytes = 40 * 1024;
  const RunLimits shared = run_limits(default_costs("ucx:posix"), posix);
  for (const std::size_t limit : {shared.send, shared.send_alone}) {
    EXPECT_GT(limit, 2048u);
    EXPECT_LE(limit, 4096u);
  }
  LinkCaps tcp = caps_with(126);
  tcp.max_packet_bytes = 60 * 1024;
  const RunLimits sockets = run_limits(default_costs("ucx:tcp"), tcp);
  EXPECT_GT(sockets.send, 8192u);
  EXPECT_LE(sockets.send, 16384u);
}

// Of staged bytes the fabric's packets take no more than of referenced ones.
TEST(RunLimits, of_short_packets_are_those_of_a_run_alone) {
  LinkCaps caps = caps_with(256);
  caps.max_packet_bytes = 16 * 1024;
  const RunLimits limits = run_limits(default_costs("tcp"), caps);
  EXPECT_EQ(limits.send, limits.send_alone);
}

TEST(RunLimits, are_lengths_that_cost_no_more_than_their_copies) {
  Costs costs;
  for (std::size_t k = 0; k < Costs::kLengths; ++k) {
    costs.copy_ns[k] = static_cast<double>(std::size_t{1} << k);
  }
  costs.segment_ns = 2048;
  costs.place_ns = 1024;
  const RunLimits limits = run_limits(costs, caps_with(1024));
  EXPECT_EQ(limits.send_alone, 2048u);
  EXPECT_EQ(limits.place, 1024u);
}

TEST(RunLimits, nothing_is_gathered_where_a_packet_takes_one_segment) {
  EXPECT_EQ(run_limits(default_costs("tcp"), caps_with(0)).send, SIZE_MAX);
  EXPECT_EQ(run_limits(default_costs("tcp"), caps_with(1)).send, SIZE_MAX);
}

TEST(RunLimits, are_infinite_where_copies_are_free) {
  Costs costs;
  costs.segment_ns = 1;
  costs.place_ns = 1;
  const RunLimits limits = run_limits(costs, caps_with(1024));
  EXPECT_EQ(limits.send, SIZE_MAX);
  EXPECT_EQ(limits.send_alone, SIZE_MAX);
  EXPECT_EQ(limits.place, SIZE_MAX);
}

TEST(Registering, PaysFromWhereCopyingTakesAsLong) {
  Costs costs;
  costs.copy_ns.fill(0);
  costs.copy_ns.back() = 0.5 * (std::size_t{1} << (Costs::kLengths - 1));
  costs.packet_ns = 0.25 * kLentPacketBytes;
  costs.register_ns = 1000;
  costs.register_byte_ns = 0.25;
  EXPECT_EQ(registered_from(costs), 2000u);
  costs.register_ns = 1001;
  EXPECT_EQ(registered_from(costs), 2002u);
  costs.register_byte_ns = 0.75;
  EXPECT_EQ(registered_from(costs), SIZE_MAX) << "a byte registered costs as much as one copied";
}

TEST(Registering, OfDevicesThatNobodyMeasuredPaysFromSomeHundredKiBOn) {
  for (const char* fabric : {"ofi:verbs", "ucx:rc", "ucx:rc_mlx5", "ucx:ud", "ucx:dc_mlx5"}) {
    const std::size_t from = registered_from(default_costs(fabric));
    EXPECT_GE(from, std::size_t{180} << 10) << fabric;
    EXPECT_LE(from, std::size_t{400} << 10) << fabric;
  }
  EXPECT_EQ(default_costs("ofi:tcp").register_ns, 0);
}

}  // namespace
}  // namespace mad
