#include "perf/explain/report.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <sstream>
#include <string>
#include <vector>

namespace explain {
namespace {

mad::Shape runs_of(std::uint64_t runs, std::uint64_t bytes) {
  mad::Shape shape;
  shape.runs = runs;
  shape.bytes = runs * bytes;
  shape.min_run = shape.max_run = bytes;
  shape.histogram[static_cast<std::size_t>(std::log2(static_cast<double>(bytes)))] = runs;
  shape.contiguous = false;
  return shape;
}

mad::DriverCaps caps() {
  mad::DriverCaps caps;
  caps.name = "tcp";
  caps.remote_write = true;
  caps.links.front().prices = "tcp";
  caps.links.front().max_iov = 1024;
  caps.links.front().max_packet_bytes = 1 << 20;
  return caps;
}

mad::Policy policy_with(const mad::Costs& costs) { return {caps().nearest(), costs, {}}; }

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> out;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) out.push_back(line);
  return out;
}

/// The words of the first line that begins with `mode` from line `from` on.
std::vector<std::string> row(const std::string& text, const std::string& mode) {
  for (const std::string& line : lines_of(text)) {
    std::istringstream in(line);
    std::vector<std::string> words;
    for (std::string word; in >> word;) words.push_back(word);
    if (!words.empty() && words[0] == mode) return words;
  }
  return {};
}

TEST(Report, every_mode_has_its_plan_and_numbers) {
  const mad::Policy policy = policy_with(mad::default_costs("tcp"));
  const mad::Shape shape = runs_of(100, 1 << 16);
  const std::string text = plans_text(shape, 2, policy);
  EXPECT_EQ(lines_of(text)[0], "sending 2 elements of 6553600 bytes");
  for (const char* mode : {"auto", "gather"}) {
    const std::vector<std::string> words = row(text, mode);
    ASSERT_GT(words.size(), 7u) << text;
    EXPECT_EQ(words[1], "gather");
    EXPECT_EQ(words[4], "200") << "segments";
    EXPECT_EQ(words[5], "0") << "copied";
    EXPECT_EQ(words[6], "13107200") << "referenced";
  }
  const std::vector<std::string> pipeline = row(text, "pipeline");
  ASSERT_GT(pipeline.size(), 7u);
  EXPECT_EQ(pipeline[3], "200") << "packets of 64 KiB";
  EXPECT_EQ(pipeline[5], "13107200");
  EXPECT_EQ(pipeline[6], "0");
  const double predicted = std::strtod(pipeline[2].c_str(), nullptr);
  const mad::Plan plan = policy.send(shape, 2, mad::Mode::kPipeline);
  EXPECT_NEAR(predicted, policy.predicted_ns(shape, 2, plan) / 1000, 0.06);
}

TEST(Report, the_choice_names_the_best_of_the_others) {
  const mad::Policy policy = policy_with(mad::default_costs("tcp"));
  const std::string text = plans_text(runs_of(1000, 64), 1, policy);
  EXPECT_NE(text.find("\nauto sends it by pipeline: all runs are short"), std::string::npos)
      << text;
  double best = 0;
  std::string name;
  for (const char* mode : {"gather", "hybrid", "pack"}) {
    const double ns = std::strtod(row(text, mode)[2].c_str(), nullptr);
    if (name.empty() || ns < best) {
      best = ns;
      name = row(text, mode)[1];
    }
  }
  EXPECT_NE(text.find("; by " + name + " " + row(text, name)[2] + "\n"), std::string::npos) << text;
}

TEST(Report, receiving_has_its_own_plans) {
  const mad::Policy policy = policy_with(mad::default_costs("tcp"));
  const auto receiving = [&](const mad::Shape& shape) {
    const std::string text = plans_text(shape, 1, policy);
    return text.substr(text.find("receiving the same\n"));
  };
  EXPECT_EQ(row(receiving(runs_of(1000, 64)), "auto")[1], "pipeline");
  EXPECT_EQ(row(receiving(runs_of(100, 1 << 16)), "auto")[1], "gather");
  EXPECT_EQ(row(receiving(runs_of(1000, 64)), "gather")[1], "gather");
  mad::Shape run = runs_of(1, 1 << 16);
  run.contiguous = true;
  EXPECT_EQ(row(receiving(run), "auto")[1], "contiguous");
}

TEST(Report, the_fabric_says_whose_costs_they_are) {
  mad::Costs costs = mad::default_costs("tcp");
  const mad::Policy policy = policy_with(costs);
  const std::string built_in = fabric_text(caps()) + costs_text(policy, "tcp");
  EXPECT_NE(built_in.find("fabric tcp: 1024 segments and 1048576 bytes a packet"),
            std::string::npos)
      << built_in;
  EXPECT_NE(built_in.find("with remote writes\n"), std::string::npos) << built_in;
  EXPECT_NE(built_in.find("built-in costs, ns: message "), std::string::npos) << built_in;
  costs.copy_ns[3] *= 2;
  EXPECT_NE(costs_text(policy_with(costs), "tcp").find("measured costs, ns"), std::string::npos);
  EXPECT_NE(costs_text(policy, "ucx").find("costs of links that are tcp, ns"), std::string::npos);
}

TEST(Report, each_kind_of_links_has_its_own_packets) {
  mad::DriverCaps two = caps();
  two.links.push_back(two.nearest());
  two.links.back().prices = "ucx:tcp";
  two.links.back().max_iov = 7;
  two.links.back().max_packet_bytes = 4321;
  EXPECT_NE(fabric_text(two).find("\nlinks that are ucx:tcp: 7 segments and 4321 bytes a packet"),
            std::string::npos)
      << fabric_text(two);
  EXPECT_EQ(fabric_text(caps()).find("links that are"), std::string::npos);
}

TEST(Report, limits_that_are_never_reached_are_never) {
  mad::LinkCaps one = caps().nearest();
  one.max_iov = 1;
  const mad::Policy policy(one, mad::default_costs("tcp"), {});
  EXPECT_NE(costs_text(policy, "tcp").find("a run of many is referenced never"), std::string::npos);
  EXPECT_NE(plans_text(runs_of(9, 64), 1, policy).find("takes one segment a packet"),
            std::string::npos);
}

}  // namespace
}  // namespace explain
