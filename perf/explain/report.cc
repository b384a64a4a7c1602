#include "perf/explain/report.h"

#include <fmt/core.h>

#include <cstddef>
#include <string_view>
#include <tuple>

namespace explain {
namespace {

using mad::Costs;
using mad::Mode;
using mad::Plan;
using mad::Policy;
using mad::Shape;

constexpr Mode kForced[] = {Mode::kGather, Mode::kHybrid, Mode::kPipeline, Mode::kPack};

bool built_in(const Costs& costs, std::string_view fabric) {
  const auto all = [](const Costs& c) {
    return std::tie(c.message_ns, c.byte_ns, c.packet_ns, c.segment_ns, c.place_ns, c.page_ns,
                    c.register_ns, c.register_byte_ns, c.copy_ns);
  };
  return all(costs) == all(mad::default_costs(fabric));
}

std::string from(std::size_t bytes) {
  return bytes == Plan::kNever ? "never" : fmt::format("from {} bytes", bytes);
}

// A line of a table of plans: values, or their headings.
template <typename... Values>
std::string columns(const Values&... values) {
  return fmt::format("  {:9} {:11} {:>12} {:>8} {:>9} {:>11} {:>11}  {}\n", values...);
}

std::string sending(const Shape& shape, std::uint64_t count, const Policy& policy, Mode mode) {
  const Plan plan = policy.send(shape, count, mode);
  const mad::SendWork work = policy.work(shape, count, plan);
  return columns(to_string(mode), to_string(plan.path),
                 fmt::format("{:.1f}", policy.predicted_ns(shape, count, plan) / 1000),
                 work.packets, work.segments, work.staged, work.bytes - work.staged, plan.reason);
}

std::string choice(const Shape& shape, std::uint64_t count, const Policy& policy) {
  const Plan chosen = policy.send(shape, count, Mode::kAuto);
  const double chosen_ns = policy.predicted_ns(shape, count, chosen);
  std::string_view next;  // the best of the others
  double next_ns = 0;
  for (const Mode mode : kForced) {
    const Plan plan = policy.send(shape, count, mode);
    const double ns = policy.predicted_ns(shape, count, plan);
    if (plan.path == chosen.path || (!next.empty() && next_ns <= ns)) continue;
    next = to_string(plan.path);
    next_ns = ns;
  }
  return fmt::format(
      "auto sends it by {}: {}\n"
      "  {:.1f} us predicted, half a round trip to one run of memory; by {} {:.1f}\n",
      to_string(chosen.path), chosen.reason, chosen_ns / 1000, next, next_ns / 1000);
}

std::string packets_text(const mad::LinkCaps& link) {
  return fmt::format("{} segments and {} bytes a packet, {} bytes injected", link.max_iov,
                     link.max_packet_bytes, link.inject_bytes);
}

}  // namespace

std::string fabric_text(const mad::DriverCaps& caps) {
  const mad::LinkCaps& nearest = caps.nearest();
  std::string out = fmt::format("fabric {}: {}{}, {} remote writes{}\n", caps.name,
                                caps.beyond_host ? "" : "this host only, ", packets_text(nearest),
                                caps.remote_write ? "with" : "without",
                                caps.scattered_writes ? " to many runs" : "");
  for (std::size_t kind = 1; kind < caps.links.size(); ++kind) {
    const mad::LinkCaps& link = caps.links[kind];
    out += fmt::format("links that are {}: {}\n", link.prices, packets_text(link));
  }
  return out;
}

std::string costs_text(const Policy& policy, const std::string& fabric) {
  const std::string& name = policy.link().prices;
  const Costs& costs = policy.costs();
  const mad::RunLimits& limits = policy.limits();
  std::string out = fmt::format(
      "{} costs{}, ns: message {:.0f}, byte {:.3f}, packet {:.0f}, segment {:.0f}, run in place "
      "{:.0f}, page {:.0f}\n  copied runs:",
      built_in(costs, name) ? "built-in" : "measured",
      name == fabric ? "" : " of links that are " + name, costs.message_ns, costs.byte_ns,
      costs.packet_ns, costs.segment_ns, costs.place_ns, costs.page_ns);
  for (std::size_t k = 0; k < Costs::kLengths; k += 4) {
    out += fmt::format("  {} B {:.1f}", std::size_t{1} << k, costs.copy_ns[k]);
  }
  out += fmt::format(
      "\nso a run of many is referenced {}, received in place {}; one alone is referenced {}\n",
      from(limits.send), from(limits.place), from(limits.send_alone));
  if (costs.register_ns > 0) {
    out += fmt::format("registering memory {:.0f} and {:.3f} a byte, so a write's source is {}\n",
                       costs.register_ns, costs.register_byte_ns,
                       "registered " + from(mad::registered_from(costs)));
  }
  return out;
}

std::string plans_text(const Shape& shape, std::uint64_t count, const Policy& policy) {
  std::string out =
      fmt::format("sending {} element{} of {} bytes\n", count, count == 1 ? "" : "s", shape.bytes);
  out += columns("asked", "plan", "predicted us", "packets", "segments", "copied", "referenced",
                 "why");
  out += sending(shape, count, policy, Mode::kAuto);
  for (const Mode mode : kForced) out += sending(shape, count, policy, mode);
  out += choice(shape, count, policy) + "receiving the same\n";
  const auto receiving = [&](Mode mode) {
    const Plan plan = policy.receive(shape, count, mode);
    out += fmt::format("  {:9} {:11} {}\n", to_string(mode), to_string(plan.path), plan.reason);
  };
  receiving(Mode::kAuto);
  for (const Mode mode : kForced) receiving(mode);
  return out;
}

}  // namespace explain
