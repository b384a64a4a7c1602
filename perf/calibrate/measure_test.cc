#include "perf/calibrate/measure.h"

#include <stdexcept>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "perf/calibrate/link.h"

namespace calibrate {
namespace {

TEST(Price, is_the_difference_shared_out) {
  EXPECT_DOUBLE_EQ(price(1100, 100, 10, 50), 100);
  EXPECT_DOUBLE_EQ(price(100, 1100, 10, 50), 5);
  EXPECT_DOUBLE_EQ(price(101, 100, 10, 50), 5);
  EXPECT_DOUBLE_EQ(price(1100, 100, 0, 50), 50);
}

// What time they take is not looked at: where others use the cores, the least of few is any.
TEST(Link, verifies_every_pair_of_layouts) {
  Link link("tcp", "lo", 0);
  EXPECT_EQ(link.fabric(), "tcp");
  EXPECT_GT(link.empty_ns(), 0);
  const Layout whole{1, kMostBytes};
  const Layout rows{256, kMostBytes / 256};
  for (const mad_path path : {MAD_PATH_GATHER, MAD_PATH_PIPELINE}) {
    EXPECT_GE(link.time({rows, whole, path}, 2).packets, 1);
    EXPECT_GE(link.time({whole, rows, path}, 2).packets, 1);
  }
}

TEST(Link, smaller_packets_are_more) {
  const Transfer transfer{{4096, 256}, {1, kMostBytes}, MAD_PATH_PIPELINE};
  const double few = Link("tcp", "lo", 0).time(transfer, 2).packets;
  const double many = Link("tcp", "lo", 8192).time(transfer, 2).packets;
  EXPECT_GT(many, 2 * few);
}

TEST(Link, an_unknown_fabric_is_named) {
  try {
    const Link link("smoke", "lo", 0);
    FAIL() << "it was opened";
  } catch (const std::runtime_error& error) {
    EXPECT_NE(std::string(error.what()).find("smoke"), std::string::npos) << error.what();
  }
}

TEST(Measure, all_costs_are_known_afterwards) {
  std::vector<std::string> told;
  const Measurement measured =
      measure("tcp", "lo", 3, [&](const std::string& what) { told.push_back(what); });
  EXPECT_EQ(measured.fabric, "tcp");
  EXPECT_GE(told.size(), 4u);
  for (const double ns :
       {measured.costs.message_ns, measured.costs.byte_ns, measured.costs.packet_ns,
        measured.costs.segment_ns, measured.costs.place_ns, measured.costs.page_ns}) {
    EXPECT_GT(ns, 0);
  }
  for (const double ns : measured.costs.copy_ns) EXPECT_GT(ns, 0);
  EXPECT_GT(measured.costs.copy_ns[16], measured.costs.copy_ns[3]);
}

}  // namespace
}  // namespace calibrate
