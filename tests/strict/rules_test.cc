// What hardware would not carry out, told from what it would.
#include "tests/strict/rules.h"

#include <gtest/gtest.h>
#include <rdma/fi_rma.h>

#include <array>

namespace mad::strict {
namespace {

class RulesTest : public ::testing::Test {
 protected:
  RulesTest() { rules.add_region(&region, memory.data(), memory.size(), FI_SEND | FI_RECV); }
  std::string send(iovec segment, bool injected = false) {
    void* descriptor = &region;
    return rules.send(from, &segment, &descriptor, 1, FI_SEND, injected, &segment);
  }

  Rules rules{kPersonas[0]};
  std::array<char, 128> memory{};
  int region = 0, other = 0;
  Sender from;
};

TEST_F(RulesTest, ASegmentLiesInItsRegion) {
  EXPECT_EQ(send({memory.data(), 128}), "");
  EXPECT_EQ(send({memory.data() + 128, 0}), "");
  EXPECT_NE(send({memory.data(), 129}), "");
  EXPECT_NE(send({memory.data() + 1, 128}), "");
  EXPECT_NE(send({memory.data() - 1, 1}), "");
  EXPECT_NE(send({memory.data() + 129, 0}), "");
  EXPECT_NE(send({nullptr, SIZE_MAX}), "");
}

TEST_F(RulesTest, ARegionIsUsedForWhatItWasRegisteredFor) {
  iovec segment{memory.data(), 8};
  void* descriptor = &region;
  EXPECT_NE(rules.send(from, &segment, &descriptor, 1, FI_WRITE, false, &segment), "");
}

TEST_F(RulesTest, ThereIsAnEndToSegments) {
  std::array<iovec, 5> segments{};
  std::array<void*, 5> descriptors{};
  segments.fill({memory.data(), 1});
  descriptors.fill(&region);
  EXPECT_EQ(rules.send(from, segments.data(), descriptors.data(), 4, FI_SEND, false, &from), "");
  EXPECT_NE(rules.send(from, segments.data(), descriptors.data(), 5, FI_SEND, false, &from), "");
}

TEST_F(RulesTest, WhatIsInjectedIsOfNoRegionButShort) {
  std::array<char, 65> elsewhere{};
  EXPECT_EQ(send({elsewhere.data(), 64}, true), "");
  EXPECT_NE(send({elsewhere.data(), 65}, true), "");
}

TEST_F(RulesTest, OperationsEndAndWithThemTheUseOfRegions) {
  iovec segment{memory.data(), 8};
  void* descriptor = &region;
  EXPECT_EQ(rules.send(from, &segment, &descriptor, 1, FI_SEND, false, &from), "");
  EXPECT_EQ(from.operations, 1u);
  EXPECT_NE(rules.remove_region(&region), "");
  rules.completed(&from);
  rules.completed(&from);
  EXPECT_EQ(from.operations, 0u);
  EXPECT_EQ(rules.remove_region(&region), "");
  EXPECT_NE(rules.remove_region(&region), "");
}

TEST_F(RulesTest, AClosedEndpointsOperationsEnd) {
  Rules there{kPersonas[0]};
  there.add_region(&other, memory.data(), memory.size(), FI_RECV);
  EXPECT_EQ(there.receive({memory.data(), 8}, &other, &other), "");
  from.receiver = there.buffers();
  EXPECT_EQ(send({memory.data(), 8}), "");
  EXPECT_NE(send({memory.data(), 8}), "") << "one buffer";
  rules.closed(from);
  EXPECT_EQ(rules.remove_region(&region), "");
  EXPECT_EQ(there.buffers()->expected, 0u);
  EXPECT_EQ(there.buffers()->ready, 1u);
}

TEST_F(RulesTest, WhatTheFabricDidNotTakeIsForgotten) {
  Rules there{kPersonas[0]};
  there.add_region(&other, memory.data(), memory.size(), FI_RECV);
  EXPECT_EQ(there.receive({memory.data(), 8}, &other, &other), "");
  from.receiver = there.buffers();
  iovec segment{memory.data(), 8};
  void* descriptor = &region;
  EXPECT_EQ(rules.send(from, &segment, &descriptor, 1, FI_SEND, false, &from), "");
  rules.taken_back(from, FI_SEND, &from);
  EXPECT_EQ(rules.send(from, &segment, &descriptor, 1, FI_SEND, false, &from), "");
  there.received(&from);
  there.completed(&other);
  EXPECT_EQ(there.buffers()->ready, 0u);
  EXPECT_EQ(there.buffers()->expected, 0u);
}

}  // namespace
}  // namespace mad::strict
