#include "perf/info/command.h"

#include <fmt/core.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "madlike/driver/ip/address.h"
#include "madlike/driver/memory/process_reader.h"
#include "madlike/message/messenger.h"
#include "netmod/abi/costs_file.h"
#include "netmod/abi/fabric.h"
#include "netmod/abi/selftest.h"
#include "perf/explain/report.h"
#include "perf/info/rdma.h"

namespace info {
namespace {

struct Options {
  std::vector<std::string> fabrics;
  std::string interface;
  std::string costs_file;
  std::size_t eager_limit = 0, flush_threshold = 0;  // 0: the fabric's
  std::uint64_t max_blocks = 0;                      // 0: as many as there are
  bool self_test = false;
};

void add_options(CLI::App* app, Options* options) {
  app->add_option("FABRIC", options->fabrics,
                  "only these, by name or as a list; default: all there may be");
  app->add_flag("--self-test", options->self_test,
                "have two engines of each fabric talk to each other");
  app->add_option("--interface", options->interface, "network interface; default: the fabric's");
  app->add_option(
      "--costs", options->costs_file,
      "what tools/mad calibrate wrote; default: the user's file, else built-in numbers");
  // What a job that is started here takes from the same environment.
  for (const auto& [name, variable] :
       {std::pair("--interface", "INTERFACE"), std::pair("--costs", "COSTS_FILE")}) {
    app->get_option(name)->envname(std::string("MPIR_CVAR_CH4_MAD_") + variable);
  }
  app->add_option("--eager-limit", options->eager_limit,
                  "bytes of a message that may leave before its receive is known")
      ->envname("MPIR_CVAR_CH4_MAD_EAGER_LIMIT");
  app->add_option("--flush-threshold", options->flush_threshold,
                  "bytes prepared before a packet leaves")
      ->envname("MPIR_CVAR_CH4_MAD_FLUSH_THRESHOLD");
  app->add_option("--max-blocks", options->max_blocks,
                  "blocks above which auto copies rather than references")
      ->envname("MPIR_CVAR_CH4_MAD_MAX_BLOCKS");
}

/// Whether processes of this user may read each other's memory: a child tries its parent's, which
/// is not allowed for being its ancestor.
std::string cma_text() {
  const std::uint64_t word = std::random_device()();
  const mad::ProcessName self{static_cast<std::uint64_t>(getpid()),
                              reinterpret_cast<std::uintptr_t>(&word), word};
  int pipes[2];
  if (pipe(pipes) != 0) return "not known: no pipe";
  const pid_t child = fork();
  if (child == 0) {
    const mad::Status status = mad::check_readable(self);
    const std::string why(status.ok() ? "" : status.message());
    _exit(write(pipes[1], why.data(), why.size()) < 0);
  }
  close(pipes[1]);
  std::array<char, 1024> why;
  const ssize_t size = child < 0 ? 0 : read(pipes[0], why.data(), why.size());
  close(pipes[0]);
  int status = -1;
  if (child < 0 || waitpid(child, &status, 0) < 0 || status != 0) return "not known: no process";
  return size <= 0 ? "works" : "cannot be used: " + std::string(why.data(), size);
}

std::string thresholds_text(const mad::LinkCaps& link, const Options& options) {
  const std::size_t eager =
      options.eager_limit != 0 ? options.eager_limit : mad::default_eager_limit(link);
  const std::size_t staged = std::min(link.max_packet_bytes, mad::MessengerConfig().packet_bytes);
  const std::string flush = options.flush_threshold != 0
                                ? fmt::format("{} bytes are prepared", options.flush_threshold)
                                : fmt::format("it is full, of copies at {} bytes", staged);
  std::string out = fmt::format(
      "up to {} bytes of a message leave before its receive is known; a packet leaves when {}\n",
      std::min(eager, mad::MessengerConfig().peer_credit), flush);
  if (options.max_blocks != 0)
    out += fmt::format("auto copies more than {} blocks\n", options.max_blocks);
  return out;
}

/// What comes of two engines that talk to each other, or nothing and in `why` what went wrong.
std::string self_test_text(const std::string& fabric, const Options& options, std::string* why) {
  constexpr std::chrono::seconds kLimit{10};
  auto one = mad::open_fabric(fabric, {options.interface});
  auto other = mad::open_fabric(fabric, {options.interface});
  const mad::Status status = one.ok() && other.ok()
                                 ? mad::self_test(std::move(*one), std::move(*other), kLimit)
                                 : (one.ok() ? other : one).status();
  if (status.ok()) return "two engines of this host exchange packets and what else there is\n";
  *why = "two engines of this host: " + std::string(status.message());
  return "";
}

/// What the fabric can do, or nothing and in `why` what is in the way.
std::string text_of(const std::string& fabric, const Options& options, std::string* why) {
  auto driver = mad::open_fabric(fabric, {options.interface});
  if (!driver.ok()) {
    *why = driver.status().message();
    return "";
  }
  const mad::DriverCaps caps = (*driver)->caps();
  mad::Tuning tuning;
  tuning.flush_threshold = options.flush_threshold;
  if (options.max_blocks != 0) tuning.max_blocks = options.max_blocks;
  std::string text = explain::fabric_text(caps);
  for (const mad::LinkCaps& link : caps.links) {
    auto costs = mad::read_costs(options.costs_file, link.prices);
    if (!costs.ok()) {
      *why = costs.status().message();
      return "";
    }
    text += explain::costs_text({link, *costs, tuning}, caps.name);
  }
  for (const mad::LinkCaps& link : caps.links) {
    if (caps.links.size() > 1) text += link.prices + ": ";
    text += thresholds_text(link, options);
  }
  driver->reset();
  if (options.self_test) text += self_test_text(fabric, options, why);
  if (!why->empty()) return "";
  const bool with_cma =
      (caps.name == "shm" && caps.remote_write) || caps.name.find(",cma") != std::string::npos;
  return with_cma ? text + "single copy between processes of this host " + cma_text() + "\n" : text;
}

std::string interfaces_text() {
  std::string out = "network interfaces:";
  for (const std::string& name : mad::interface_names()) {
    const mad::Result<std::string> address = mad::interface_address(name);
    out += fmt::format(" {} ({})", name, address.ok() ? *address : "no address");
  }
  return out + "\n";
}

std::string auto_text(const Options& options) {
  const mad::Result<std::string> rdma = mad::tested_rdma({options.interface});
  return fmt::format(
      "auto: shm with processes of this host that it reaches, {}tcp with all others; {}: {}\n",
      rdma.ok() ? "ofi:verbs with hosts that take it, too, " : "",
      rdma.ok() ? "why ofi:verbs" : "no ofi:verbs",
      rdma.ok() ? *rdma : std::string(rdma.status().message()));
}

/// Those of lists, too.
std::vector<std::string> each_of(const std::vector<std::string>& names, const Options& options) {
  std::vector<std::string> out;
  for (const std::string& list : names) {
    for (std::string& fabric : mad::fabric_list(list, {options.interface}))
      out.push_back(std::move(fabric));
  }
  return out;
}

/// Whether all of them can be used.
bool print(const std::vector<std::string>& fabrics, const Options& options, std::ostream& out) {
  out << interfaces_text() << rdma_text(mad::RdmaUser::this_process()) << auto_text(options);
  bool all = true;
  for (const std::string& fabric : each_of(fabrics, options)) {
    std::string why;
    const std::string text = text_of(fabric, options, &why);
    out << "\n"
        << (why.empty() ? text : fmt::format("fabric {} cannot be used: {}\n", fabric, why));
    all = all && why.empty();
  }
  return all;
}

}  // namespace

int command(int argc, const char* const* argv, std::ostream& out, std::ostream& err) {
  constexpr int kNotUsable = 1, kWrongUse = 2;
  CLI::App app(
      "Prints the fabrics of this machine: what each can do and costs, the lengths of blocks that "
      "follow from that, or why it cannot be used.",
      "info");
  Options options;
  add_options(&app, &options);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error, out, err) == 0 ? 0 : kWrongUse;
  }
  if (!options.fabrics.empty()) return print(options.fabrics, options, out) ? 0 : kNotUsable;
  (void)print(mad::fabrics_to_try(), options, out);
  return 0;
}

}  // namespace info
