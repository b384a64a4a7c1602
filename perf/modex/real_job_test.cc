#include "perf/modex/real_job.h"

#include <gtest/gtest.h>

#include <cstring>
#include <utility>

#include "netmod/abi/address.h"
#include "netmod/modex/made_up_launcher.h"
#include "netmod/modex/modex.h"
#include "perf/modex/names.h"

namespace mad {
namespace {

constexpr int kRanks = 5, kPerNode = 2;  // the last node has one
constexpr std::uint32_t kFirstId = 77000;

ModexBytes card_of(int rank) {
  EngineAddress card;
  card.fabrics = {{"shm", ModexBytes(24)}, {"tcp", ModexBytes(16, std::byte(100 + rank))}};
  const std::uint32_t id = kFirstId + static_cast<std::uint32_t>(rank);
  std::memcpy(card.fabrics[0].address.data() + kProcessIdPlace, &id, sizeof(id));
  return card.encode();
}

/// Of a job of our processes; the first node's costs as its first process counted them.
std::pair<std::map<std::string, std::string>, ModexCosts> values_of_a_job() {
  MadeUpJob job({0, 0, 1, 1, 2});
  ModexCosts costs;
  job.run([&](int rank, Launcher& launcher) {
    Modex modex = std::move(*Modex::open({rank, kRanks, job.nodes.data(), 0}, &launcher));
    const StartUpNames names = StartUpNames::of(&modex);
    (void)modex.send_node(names.host, {std::byte{'h'}, std::byte{'1'}});
    (void)modex.send_process(names.card, card_of(rank));
    EXPECT_TRUE(modex.exchange().ok());
    if (rank == 0) costs = modex.costs();
  });
  return {job.values, costs};
}

TEST(RealJob, IsReadFromTheLaunchersValues) {
  const auto [values, costs] = values_of_a_job();
  const auto job = read_real_job(kRanks, kPerNode, values);
  ASSERT_TRUE(job.ok()) << job.status().message();
  EXPECT_EQ(job->host, "h1");
  ASSERT_EQ(job->process_ids.size(), static_cast<std::size_t>(kRanks));
  for (std::uint32_t rank = 0; rank < kRanks; ++rank) {
    EXPECT_EQ(job->process_ids[rank], kFirstId + rank);
  }
  ASSERT_EQ(job->nodes.size(), 3U);
  EXPECT_EQ(job->nodes[0].puts, costs.puts);
  EXPECT_EQ(job->nodes[0].characters, costs.put_characters);
  EXPECT_GT(job->nodes[0].process_bytes, 0U);
  EXPECT_EQ(job->nodes[2].process_bytes, 0U);  // of one process nothing differs
}

TEST(RealJob, WhatIsMissingOrDamagedIsAnError) {
  auto values = values_of_a_job().first;
  EXPECT_FALSE(read_real_job(kRanks + 2, kPerNode, values).ok());
  EXPECT_FALSE(read_real_job(2, 2, values).ok());
  values["mad-0-1"] = "1.AAAA";
  EXPECT_FALSE(read_real_job(kRanks, kPerNode, values).ok());
  values.erase("mad-0-1");
  EXPECT_FALSE(read_real_job(kRanks, kPerNode, values).ok());
}

}  // namespace
}  // namespace mad
