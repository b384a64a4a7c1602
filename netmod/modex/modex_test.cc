#include "netmod/modex/modex.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "netmod/modex/made_up_launcher.h"

namespace mad {
namespace {

ModexBytes bytes(const std::string& text) {
  const auto* const begin = reinterpret_cast<const std::byte*>(text.data());
  return {begin, begin + text.size()};
}

std::string text(const Result<ModexBytes>& data) {
  if (!data.ok()) return "error";
  return {reinterpret_cast<const char*>(data->data()), data->size()};
}

Modex opened(const MadeUpJob& job, int rank, Launcher& launcher) {
  auto modex =
      Modex::open({rank, static_cast<int>(job.nodes.size()), job.nodes.data(), 3}, &launcher);
  EXPECT_TRUE(modex.ok()) << modex.status().message();
  return std::move(*modex);
}

// Two of these hash alike, as a search over words found.
constexpr const char* kColliding[] = {"costarring", "liquid"};

TEST(Modex, EverybodyReceivesWhatEverybodySent) {
  MadeUpJob job({0, 1, 0, 2, 1, 0}, 40);  // values so short that a node needs several
  job.run([&](int rank, Launcher& launcher) {
    Modex modex = opened(job, rank, launcher);
    const std::uint32_t card = *modex.add_name("card");
    const std::uint32_t host = *modex.add_name("host");
    EXPECT_TRUE(modex.send_process(card, bytes("none")).ok());
    EXPECT_TRUE(modex.send_process(card, bytes("card of " + std::to_string(rank * 7))).ok());
    EXPECT_TRUE(modex.send_node(host, bytes("node of " + std::to_string(rank))).ok());
    EXPECT_EQ(modex.receive_process(rank, card).status().code(), StatusCode::kInvalidArgument);
    ASSERT_TRUE(modex.exchange().ok());
    EXPECT_EQ(modex.costs().gets, 0U);  // not before it is asked for
    for (int peer = 0; peer < 6; ++peer) {
      EXPECT_EQ(text(modex.receive_process(peer, card)), "card of " + std::to_string(peer * 7));
    }
    EXPECT_EQ(text(modex.receive_node(0, host)), "node of 5");
    EXPECT_EQ(text(modex.receive_node(4, host)), "node of 4");
    EXPECT_EQ(text(modex.receive_node(3, host)), "node of 3");
    EXPECT_EQ(modex.receive_process(1, host).status().code(), StatusCode::kNotFound);
    EXPECT_EQ(modex.receive_process(6, card).status().code(), StatusCode::kInvalidArgument);
    EXPECT_EQ(modex.receive_process(1, 12345).status().code(), StatusCode::kInvalidArgument);
    EXPECT_EQ(modex.send_process(card, {}).code(), StatusCode::kClosed);
    EXPECT_EQ(modex.exchange().code(), StatusCode::kClosed);
  });
}

TEST(Modex, ANodeAloneNeedsNoLauncher) {
  MadeUpJob job({0, 0, 0});
  job.run([&](int rank, Launcher& launcher) {
    Modex modex = opened(job, rank, launcher);
    const std::uint32_t name = *modex.add_name("card");
    ASSERT_TRUE(modex.send_process(name, bytes(std::to_string(rank))).ok());
    ASSERT_TRUE(modex.exchange().ok());
    EXPECT_EQ(text(modex.receive_process(2, name)), "2");
    EXPECT_TRUE(*modex.agree(name, [](const ModexBytes&, const ModexBytes&) { return true; }));
    EXPECT_EQ(modex.costs().puts + modex.costs().gets + modex.costs().fences, 0U);
  });
}

TEST(Modex, NamesThatHashAlikeAreFound) {
  MadeUpJob job({0});
  job.run([&](int rank, Launcher& launcher) {
    Modex modex = opened(job, rank, launcher);
    EXPECT_TRUE(modex.add_name(kColliding[0]).ok());
    EXPECT_TRUE(modex.add_name(kColliding[0]).ok());
    const auto collided = modex.add_name(kColliding[1]);
    ASSERT_EQ(collided.status().code(), StatusCode::kInvalidArgument);
    EXPECT_NE(collided.status().message().find(kColliding[0]), std::string::npos);
  });
}

TEST(Modex, AgreementIsOfAllPairs) {
  const auto same_begin = [](const ModexBytes& one, const ModexBytes& other) {
    return !one.empty() && !other.empty() && one.front() == other.front();
  };
  for (const auto& [odd_one, expected] : std::vector<std::pair<std::string, bool>>{
           {"tcp", true}, {"t", true}, {"shm", false}, {"", false}}) {
    MadeUpJob job({0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 6});
    std::atomic<std::size_t> most_gets{0};
    job.run([&, odd = odd_one, is_expected = expected](int rank, Launcher& launcher) {
      Modex modex = opened(job, rank, launcher);
      const std::uint32_t name = *modex.add_name("fabrics");
      const std::string own = rank == 9 ? odd : "tcp";
      if (!own.empty()) {
        ASSERT_TRUE(modex.send_process(name, bytes(own)).ok());
      }
      ASSERT_TRUE(modex.exchange().ok());
      for (int times = 0; times < 2; ++times) {
        const auto agreed = modex.agree(name, same_begin);
        ASSERT_TRUE(agreed.ok()) << agreed.status().message();
        EXPECT_EQ(*agreed, is_expected) << odd;
      }
      if (modex.costs().gets > most_gets) most_gets = modex.costs().gets;
    });
    EXPECT_LE(most_gets, 2 + 2 * 3U);  // the nodes of its group once, and twice all groups
  }
}

TEST(Modex, TooManyDifferentValuesDoNotAgree) {
  MadeUpJob job({0, 1, 2, 3, 4}, 30);
  job.run([&](int rank, Launcher& launcher) {
    Modex modex = opened(job, rank, launcher);
    const std::uint32_t name = *modex.add_name("fabrics");
    ASSERT_TRUE(modex.send_process(name, ModexBytes(20, std::byte(rank))).ok());
    ASSERT_TRUE(modex.exchange().ok());
    EXPECT_FALSE(*modex.agree(name, [](const ModexBytes&, const ModexBytes&) { return true; }));
  });
}

TEST(Modex, WhatTheLauncherBreaksIsAnError) {
  MadeUpJob job({0, 1, 2});
  job.broken_key = "mad-3-1";
  job.run([&](int rank, Launcher& launcher) {
    Modex modex = opened(job, rank, launcher);
    const std::uint32_t name = *modex.add_name("card");
    ASSERT_TRUE(modex.send_process(name, bytes("same")).ok());
    ASSERT_TRUE(modex.exchange().ok());
    ASSERT_TRUE(launcher.fence().ok());
    if (rank != 0) return;
    EXPECT_EQ(modex.receive_process(1, name).status().code(), StatusCode::kInternal);
    for (const char* const wrong :
         {"", "1", "x.AA", "1.", "1.AAA", "2.AAA", "99999999999.A", "0."}) {
      job.values["mad-3-2"] = wrong;
      EXPECT_FALSE(modex.receive_process(2, name).ok()) << wrong;
    }
  });
}

TEST(Modex, AJobHasARankAndNodes) {
  MadeUpJob job({0});
  job.run([&](int /*rank*/, Launcher& launcher) {
    const int nodes[] = {0, 0};
    const int negative[] = {0, -1};
    EXPECT_FALSE(Modex::open({2, 2, nodes, 0}, &launcher).ok());
    EXPECT_FALSE(Modex::open({0, 2, negative, 0}, &launcher).ok());
  });
}

TEST(Modex, NumbersOfNodesMayBeLeftOut) {
  MadeUpJob job({0});
  job.run([&](int /*rank*/, Launcher& launcher) {
    const int one[] = {1, 1};
    const int several[] = {5, 2, 5, 3};
    const auto alone = Modex::open({1, 2, one, 0}, &launcher);
    ASSERT_TRUE(alone.ok()) << alone.status().message();
    EXPECT_EQ(alone->nodes(), 1U);
    EXPECT_EQ(alone->processes_of_node(), 2U);
    const auto among = Modex::open({2, 4, several, 0}, &launcher);
    ASSERT_TRUE(among.ok()) << among.status().message();
    EXPECT_EQ(among->nodes(), 3U);
    EXPECT_EQ(among->processes_of_node(), 2U);
  });
}

TEST(Modex, AProcessSendsSoMuch) {
  MadeUpJob job({0});
  job.run([&](int rank, Launcher& launcher) {
    Modex modex = opened(job, rank, launcher);
    const std::uint32_t name = *modex.add_name("card");
    EXPECT_EQ(modex.send_process(name + 1, {}).code(), StatusCode::kInvalidArgument);
    EXPECT_EQ(modex.send_process(name, ModexBytes(ModexRecord::kBytes + 1)).code(),
              StatusCode::kInvalidArgument);
    EXPECT_TRUE(modex.send_process(name, ModexBytes(ModexRecord::kBytes)).ok());
    EXPECT_EQ(modex.exchange().code(), StatusCode::kInvalidArgument);
  });
}

}  // namespace
}  // namespace mad
