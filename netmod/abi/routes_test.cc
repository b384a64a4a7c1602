#include "netmod/abi/routes.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>

namespace mad {
namespace {

std::vector<std::byte> bytes(const std::string& text) {
  std::vector<std::byte> out;
  for (const char c : text) out.push_back(std::byte(c));
  return out;
}

/// An engine with an address on each of the fabrics, made of their names and its own.
EngineAddress engine(const std::string& name, const std::string& node,
                     const std::vector<std::string>& fabrics) {
  EngineAddress out;
  out.node = bytes(node);
  for (const std::string& fabric : fabrics) out.fabrics.push_back({fabric, bytes(fabric + name)});
  return out;
}

/// The fabrics' names in the order in which they are tried; those that begin with "shm" stay on
/// their host.
std::vector<std::string> tried(const EngineAddress& own, const EngineAddress& peer) {
  std::vector<bool> beyond;
  for (const FabricAddress& each : own.fabrics) beyond.push_back(each.fabric.rfind("shm", 0) != 0);
  std::vector<std::string> out;
  for (const Route& route : routes_between(own, beyond, peer)) {
    out.push_back(own.fabrics.at(route.driver).fabric);
    EXPECT_EQ(route.address[route.address.size() - 1], peer.fabrics[0].address.back())
        << "the peer's address";
  }
  return out;
}

using Names = std::vector<std::string>;

TEST(Routes, OnOneHostTheFirstOfTheList) {
  const EngineAddress a = engine("a", "host", {"shm", "tcp"});
  EXPECT_EQ(tried(a, engine("b", "host", {"shm", "tcp"})), (Names{"shm", "tcp"}));
}

TEST(Routes, BetweenHostsOnlyWhatLeavesThem) {
  const EngineAddress a = engine("a", "host", {"shm", "tcp"});
  EXPECT_EQ(tried(a, engine("b", "other", {"shm", "tcp"})), (Names{"tcp"}));
  EXPECT_EQ(tried(engine("a", "host", {"shm"}), engine("b", "other", {"shm"})), Names());
}

TEST(Routes, AnUnknownHostMayBeThisOne) {
  const EngineAddress a = engine("a", "host", {"shm", "tcp"});
  EXPECT_EQ(tried(a, engine("b", "", {"shm", "tcp"})), (Names{"shm", "tcp"}));
}

TEST(Routes, OnlyWhatBothHave) {
  const EngineAddress a = engine("a", "host", {"shm", "ofi", "tcp"});
  EXPECT_EQ(tried(a, engine("b", "host", {"tcp"})), (Names{"tcp"}));
  EXPECT_EQ(tried(a, engine("b", "host", {"ucx"})), Names());
}

TEST(Routes, BothFindTheSameOrder) {
  const EngineAddress one = engine("a", "host", {"ofi", "tcp", "shm"});
  const EngineAddress other = engine("b", "host", {"tcp", "shm", "ofi", "ucx"});
  const Names order = tried(one, other);
  EXPECT_EQ(order.size(), 3u);
  EXPECT_EQ(order, tried(other, one));
}

}  // namespace
}  // namespace mad
