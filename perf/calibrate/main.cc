// calibrate: measures what plans are made of and writes it where libmad finds it.

#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "netmod/abi/costs_file.h"
#include "netmod/abi/fabric.h"
#include "perf/calibrate/measure.h"
#include "perf/calibrate/registering.h"

namespace {

using Json = nlohmann::ordered_json;

Json json_of(const mad::Costs& costs) {
  return {{"message_ns", costs.message_ns}, {"byte_ns", costs.byte_ns},
          {"packet_ns", costs.packet_ns},   {"segment_ns", costs.segment_ns},
          {"place_ns", costs.place_ns},     {"page_ns", costs.page_ns},
          {"copy_ns", costs.copy_ns}};
}

// Of a fabric that registers memory it has that price, too.
Json with_registering(Json numbers, const mad::Costs& costs) {
  if (costs.register_ns > 0) {
    numbers["register_ns"] = costs.register_ns;
    numbers["register_byte_ns"] = costs.register_byte_ns;
  }
  return numbers;
}

// What was measured of other fabrics stays; a file that cannot be used is replaced.
Json read_file(const std::string& path) {
  std::ifstream file(path);
  const Json old = file.is_open() ? Json::parse(file, nullptr, false) : Json();
  const bool usable = old.is_object() && old.value("version", Json()) == 1 &&
                      old.contains("fabrics") && old["fabrics"].is_object();
  return usable ? old : Json{{"version", 1}, {"fabrics", Json::object()}};
}

bool write_file(const std::string& path, const Json& json) {
  std::error_code error;
  const std::filesystem::path target(path);
  if (target.has_parent_path()) std::filesystem::create_directories(target.parent_path(), error);
  const std::string draft = path + ".draft";  // the file appears whole or not at all
  {
    std::ofstream file(draft);
    file << json.dump(1) << "\n";
    if (!file.flush()) return false;
  }
  std::filesystem::rename(draft, target, error);
  return !error;
}

std::string limit(std::size_t bytes) {
  return bytes == SIZE_MAX ? "never" : fmt::format("from {} bytes", bytes);
}

void report(const calibrate::Measurement& measured, const mad::LinkCaps& link) {
  const mad::Costs& costs = measured.costs;
  fmt::print(
      "{}: message {:.0f} ns, byte {:.3f}, packet {:.0f}, segment {:.0f}, run in place "
      "{:.0f}, page {:.0f}\n",
      measured.fabric, costs.message_ns, costs.byte_ns, costs.packet_ns, costs.segment_ns,
      costs.place_ns, costs.page_ns);
  fmt::print("  copying runs of");
  for (std::size_t k = 3; k < mad::Costs::kLengths; k += 3) {
    fmt::print("  {} B: {:.1f} ns", std::size_t{1} << k, costs.copy_ns[k]);
  }
  const mad::RunLimits limits = mad::run_limits(costs, link);
  fmt::print(
      "\n  so a run of many is referenced {}, received in place {}; a single one is "
      "referenced {}\n",
      limit(limits.send), limit(limits.place), limit(limits.send_alone));
  if (costs.register_ns > 0) {
    fmt::print("  registering {:.0f} ns and {:.3f} a byte, so a write's source is registered {}\n",
               costs.register_ns, costs.register_byte_ns, limit(mad::registered_from(costs)));
  }
}

// Of a list with commas; `cma` is a part of the fabric before it.
std::vector<std::string> with_cma(const std::vector<std::string>& words) {
  std::vector<std::string> fabrics;
  for (const std::string& word : words) {
    if (word == "cma" && !fabrics.empty()) {
      fabrics.back() += ",cma";
    } else {
      fabrics.push_back(word);
    }
  }
  return fabrics;
}

std::unique_ptr<mad::Driver> opened(const std::string& fabric, const std::string& interface) {
  auto driver = mad::open_fabric(fabric, {interface});
  if (!driver.ok()) throw std::runtime_error(std::string(driver.status().message()));
  return std::move(*driver);
}

int calibrate_all(const std::vector<std::string>& fabrics, const std::string& interface,
                  const std::string& path, int rounds) {
  Json file = read_file(path);
  std::vector<calibrate::Measurement> all;
  for (const std::string& fabric : fabrics) {
    all.push_back(calibrate::measure(fabric, interface, rounds, [&](const std::string& what) {
      fmt::print("{}: {} ...\n", fabric, what);
      std::fflush(stdout);
    }));
  }
  for (calibrate::Measurement& measured : all) {  // which forked, before any fabric was open
    const std::unique_ptr<mad::Driver> driver = opened(measured.fabric, interface);
    if (mad::default_costs(measured.fabric).register_ns > 0) {
      const std::unique_ptr<mad::Driver> peer = opened(measured.fabric, interface);
      calibrate::measure_registering(*driver, *peer, rounds, &measured.costs);
    }
    report(measured, driver->caps().nearest());
    file["fabrics"][measured.fabric] = with_registering(json_of(measured.costs), measured.costs);
    const auto usable = mad::parse_costs(file.dump(), measured.fabric);
    if (!usable.ok()) throw std::runtime_error(std::string(usable.status().message()));
  }
  if (!write_file(path, file)) throw std::runtime_error("cannot write " + path);
  fmt::print("written to {}\n", path);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app(
      "Measures the costs of fabrics on this machine, which plans are made of, and writes "
      "them to a file that libmad reads.");
  std::vector<std::string> fabrics{"tcp"};
  std::string interface = "lo";
  std::string path = mad::default_costs_file();
  int rounds = 200;
  app.add_option("--fabric", fabrics, "fabrics to measure")->delimiter(',')->capture_default_str();
  app.add_option("--interface", interface, "network interface")->capture_default_str();
  app.add_option("--output", path, "the file; what it says of other fabrics stays")
      ->capture_default_str();
  app.add_option("--rounds", rounds, "rounds of each transfer; the least counts")
      ->check(CLI::Range(1, 100000))
      ->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  if (path.empty()) {
    fmt::print(stderr, "calibrate: neither XDG_CONFIG_HOME nor HOME is set; say --output FILE\n");
    return 2;
  }
  try {
    return calibrate_all(with_cma(fabrics), interface, path, rounds);
  } catch (const std::exception& error) {
    fmt::print(stderr, "calibrate: {}\n", error.what());
    return 1;
  }
}
