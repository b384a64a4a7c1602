#include "perf/explain/command.h"

#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "datatype_path/explain/explain.h"
#include "netmod/abi/costs_file.h"
#include "netmod/abi/fabric.h"
#include "perf/explain/report.h"
#include "perf/micro/engine_type.h"
#include "perf/micro/layouts.h"

namespace explain {
namespace {

// Of which every layout has a whole element, and of which all have been measured.
constexpr std::uint64_t kLeastBytes = 256, kMostBytes = 64 << 20;

struct Options {
  std::vector<std::string> layouts;
  std::uint64_t bytes = 64 << 10;
  std::string fabric = mad::kDefaultFabric;
  std::string interface;
  std::string costs_file;
  mad::Tuning tuning;
  bool list = false;
};

void add_options(CLI::App* app, Options* options) {
  app->add_option("LAYOUT", options->layouts, "layouts of perf/micro");
  app->add_flag("--list", options->list, "print the layouts");
  app->add_option("--bytes", options->bytes, "payload, with suffix K or M if you like; default 64K")
      ->transform(CLI::AsSizeValue(false))
      ->check(CLI::Range(kLeastBytes, kMostBytes));
  app->add_option("--fabric", options->fabric, "or several with semicolons between; default auto");
  app->add_option("--interface", options->interface, "network interface; default: the fabric's");
  app->add_option(
      "--costs", options->costs_file,
      "what tools/mad calibrate wrote; default: the user's file, else built-in numbers");
  app->add_option("--flush-threshold", options->tuning.flush_threshold,
                  "bytes prepared before a packet leaves");
  app->add_option("--max-blocks", options->tuning.max_blocks,
                  "blocks above which auto copies rather than references");
}

const micro::LayoutKind& kind_named(const std::string& name) {
  for (const micro::LayoutKind& kind : micro::layout_kinds()) {
    if (name == kind.name) return kind;
  }
  throw std::invalid_argument("no layout '" + name + "'; --list prints those there are");
}

template <typename Value>
Value& valid(mad::Result<Value>& result) {
  if (!result.ok()) throw std::invalid_argument(std::string(result.status().message()));
  return result.value();
}

mad::Policy policy_of(const mad::LinkCaps& link, const Options& options) {
  auto costs = mad::read_costs(options.costs_file, link.prices);
  return {link, valid(costs), options.tuning};
}

std::string layout_text(const micro::LayoutKind& kind, const Options& options,
                        const mad::Policy& policy) {
  const micro::Layout layout = kind.make(static_cast<std::int64_t>(options.bytes));
  const mad::TypeDescPtr type = micro::describe(layout);
  const micro::ProgramPtr program = micro::compile(*type);
  return fmt::format("{}: {}\n", kind.name, kind.about) + mad::explain(*type, *program) +
         plans_text(program->shape(), static_cast<std::uint64_t>(layout.count), policy);
}

void print(const Options& options, std::ostream& out) {
  if (options.list) {
    for (const micro::LayoutKind& kind : micro::layout_kinds()) {
      out << fmt::format("{:14} {}\n", kind.name, kind.about);
    }
    return;
  }
  if (options.layouts.empty()) throw std::invalid_argument("name a layout; --list prints them");
  std::vector<const micro::LayoutKind*> kinds;
  for (const std::string& name : options.layouts) kinds.push_back(&kind_named(name));
  auto drivers = mad::open_fabrics(options.fabric, {options.interface});
  const char* between = "";
  for (const auto& driver : valid(drivers)) {
    const mad::DriverCaps& caps = driver->caps();
    std::string text = fabric_text(caps);
    for (const mad::LinkCaps& link : caps.links) {
      const mad::Policy policy = policy_of(link, options);
      text += costs_text(policy, caps.name);
      for (const micro::LayoutKind* kind : kinds) {
        text += "\n" + layout_text(*kind, options, policy);
      }
    }
    out << between << text;
    between = "\n";
  }
}

}  // namespace

int command(int argc, const char* const* argv, std::ostream& out, std::ostream& err) {
  constexpr int kWrongUse = 2;
  CLI::App app(
      "Explains what this engine does with a datatype: its shape, the plan of each mode with its "
      "predicted time, and why.",
      "explain");
  Options options;
  add_options(&app, &options);
  try {
    app.parse(argc, argv);
    print(options, out);
    return 0;
  } catch (const CLI::ParseError& error) {
    return app.exit(error, out, err) == 0 ? 0 : kWrongUse;
  } catch (const std::invalid_argument& error) {
    err << "explain: " << error.what() << "\n";
    return kWrongUse;
  }
}

}  // namespace explain
