#include "netmod/abi/fabric.h"

#include <algorithm>
#include <cctype>
#include <cstring>
#include <set>
#include <utility>

#include "madlike/base/say.h"
#include "madlike/driver/door/handshake.h"
#include "madlike/driver/loopback/loopback.h"
#include "madlike/driver/ofi/ofi.h"
#include "madlike/driver/rdma/obstacles.h"
#include "madlike/driver/shm/shm.h"
#include "madlike/driver/tcp/tcp.h"
#include "madlike/driver/ucx/names.h"
#include "netmod/abi/address.h"
#include "netmod/abi/costs_file.h"
#include "netmod/abi/selftest.h"
#include "netmod/abi/ucx_plugin.h"

namespace mad {
namespace {

constexpr const char* kAuto = "auto";
constexpr const char* kTcp = "tcp";
constexpr const char* kShm = "shm";
constexpr char kBetween = ';';

// What a network is for engines of several hosts, this is for the engines of one process: a place
// they all share.  It is made at first use and never changes.
std::shared_ptr<LoopbackNetwork> process_network() {
  static const auto network = std::make_shared<LoopbackNetwork>();
  return network;
}

using Opened = Result<std::unique_ptr<Driver>>;

void copy_common(const FabricOptions& options, DoorOptions* out) {
  out->interface = options.interface;
  out->secret = options.secret;
  out->silence_timeout = options.silence_timeout;
}

Opened open_several(const std::string& /*name*/, const FabricOptions& /*options*/) {
  return Status(StatusCode::kInvalidArgument, "auto is several fabrics: shm, ofi:verbs and tcp");
}

Opened open_tcp_fabric(const std::string& /*name*/, const FabricOptions& options) {
  TcpOptions tcp;
  copy_common(options, &tcp);
  return open_tcp(tcp);
}

Opened open_shm_fabric(const std::string& /*name*/, const FabricOptions& options) {
  ShmOptions shm;
  shm.secret = options.secret;
  return open_shm(shm);
}

Status set_registered_from(const std::string& name, const FabricOptions& options,
                           std::size_t* out) {
  const auto costs = read_costs(options.costs_file, name);
  if (!costs.ok()) return costs.status();
  if (costs.value().register_ns > 0) *out = registered_from(costs.value());
  return {};
}

Opened open_ofi_fabric(const std::string& name, const FabricOptions& options) {
  OfiOptions ofi;
  Status costs = set_registered_from(name, options, &ofi.registered_from);
  if (costs.error()) return costs;
  const std::size_t colon = name.find(':');
  if (colon != std::string::npos) ofi.provider = name.substr(colon + 1);
  copy_common(options, &ofi);
  ofi.linger = options.linger;
  ofi.close_timeout = std::max(ofi.close_timeout, options.linger);
  return open_ofi(ofi);
}

Opened open_ucx_fabric(const std::string& name, const FabricOptions& options) {
  Result<UcxOptions> ucx = ucx_options(name, options.interface);
  if (!ucx.ok()) return ucx.status();
  copy_common(options, &*ucx);
  Status costs = set_registered_from(ucx->rc.empty() ? name : "ucx:" + ucx->rc, options,
                                     &ucx->registered_from);
  if (costs.error()) return costs;
  ucx->linger = options.linger;
  ucx->close_timeout = std::max(ucx->close_timeout, options.linger);
  return open_ucx_plugin(*ucx);
}

Opened open_loopback_fabric(const std::string& /*name*/, const FabricOptions& /*options*/) {
  return std::unique_ptr<Driver>(std::make_unique<LoopbackDriver>(process_network()));
}

/// What carries packets between processes of one host; for the tools.
enum class Within { kMemory, kSockets };
/// What the stages of the tests run over a fabric: everything; what differs for it; some things, or
/// what tests another name; what the stage `rdma` does, in its lab; nothing so far, and no list of
/// the fabrics names it.
enum class Tested { kInFull, kDiffering, kByAnother, kInLab, kNever };
/// Whether somebody is told of it who asks what this host has.
enum class Asked { kYes, kNo };

/// A name that a user may give.
struct Fabric {
  const char* name;  // words in capitals stand for what the user writes there
  Opened (*open)(const std::string& name, const FabricOptions& options);
  Within within;
  Tested tested;
  Asked asked;
};

// The one table of fabrics.  tools/madtool/fabrics.py reads it here, line by line.
// clang-format off
constexpr Fabric kFabrics[] = {
    {"auto", open_several, Within::kMemory, Tested::kDiffering, Asked::kNo},
    {"tcp", open_tcp_fabric, Within::kSockets, Tested::kInFull, Asked::kYes},
    {"shm", open_shm_fabric, Within::kMemory, Tested::kByAnother, Asked::kYes},
    {"ofi:tcp", open_ofi_fabric, Within::kSockets, Tested::kDiffering, Asked::kYes},
    {"ofi:verbs", open_ofi_fabric, Within::kSockets, Tested::kInLab, Asked::kYes},
    {"ofi", open_ofi_fabric, Within::kSockets, Tested::kNever, Asked::kNo},
    {"ofi:PROVIDER", open_ofi_fabric, Within::kSockets, Tested::kByAnother, Asked::kNo},
    {"ucx", open_ucx_fabric, Within::kMemory, Tested::kByAnother, Asked::kYes},
    {"ucx:tcp", open_ucx_fabric, Within::kSockets, Tested::kDiffering, Asked::kYes},
    {"ucx:posix", open_ucx_fabric, Within::kMemory, Tested::kByAnother, Asked::kYes},
    {"ucx:rc", open_ucx_fabric, Within::kSockets, Tested::kInLab, Asked::kYes},
    {"ucx:ud", open_ucx_fabric, Within::kSockets, Tested::kByAnother, Asked::kYes},
    {"ucx:posix,cma", open_ucx_fabric, Within::kMemory, Tested::kDiffering, Asked::kYes},
    {"ucx:TRANSPORTS", open_ucx_fabric, Within::kSockets, Tested::kNever, Asked::kNo},
    {"loopback", open_loopback_fabric, Within::kMemory, Tested::kByAnother, Asked::kNo},
};
// clang-format on

/// The fabric of this name, or the one whose name has capitals where this has something else; null.
const Fabric* find_fabric(const std::string& name) {
  const std::string family = name.substr(0, name.find(':') + 1);  // with the colon
  const Fabric* found = nullptr;
  for (const Fabric& each : kFabrics) {
    if (name == each.name) return &each;
    const std::string pattern = each.name;
    const bool stands_for_others = std::isupper(static_cast<unsigned char>(pattern.back())) != 0;
    if (stands_for_others && name.size() > family.size() &&
        pattern.compare(0, pattern.find(':') + 1, family) == 0) {
      found = &each;
    }
  }
  return found;
}

/// A fabric of a list.
struct Listed {
  std::string name;
  enum class Of { kUser, kAuto, kAutoIfTested } of = Of::kUser;
};

std::vector<Listed> listed(const std::string& names, const AutoRdma& rdma) {
  std::vector<Listed> list;
  for (std::size_t begin = 0; begin <= names.size();) {
    std::string name = names.substr(begin, names.find(kBetween, begin) - begin);
    begin += name.size() + 1;
    if (name == kAuto) {
      list.push_back({kShm, Listed::Of::kAuto});
      list.push_back({rdma.fabric, Listed::Of::kAutoIfTested});
      list.push_back({kTcp, Listed::Of::kAuto});
    } else {
      list.push_back({std::move(name)});
    }
  }
  return list;
}

/// Says what becomes of a fabric of auto, to who asked for it.
void tell_of(const std::string& fabric, const std::string& sentence) {
  if (is_verbose()) say(kAuto, fabric + " " + sentence);
}

std::string milliseconds_since(std::chrono::steady_clock::time_point begin) {
  using Tenths = std::chrono::duration<std::int64_t, std::ratio<1, 10000>>;
  const auto tenths =
      std::chrono::duration_cast<Tenths>(std::chrono::steady_clock::now() - begin).count();
  return std::to_string(tenths / 10) + "." + std::to_string(tenths % 10) + " ms";
}

/// Two engines more, that nobody waits for when they are closed.
Status test_rdma(FabricOptions options) {
  options.linger = std::chrono::milliseconds(0);
  Opened one = open_fabric(options.rdma.fabric, options);
  if (!one.ok()) return one.status();
  Opened other = open_fabric(options.rdma.fabric, options);
  if (!other.ok()) return other.status();
  return self_test(std::move(*one), std::move(*other), options.rdma.self_test_limit);
}

/// A device of auto that works.
struct TestedRdma {
  FabricOptions options;  // to open the fabric with, which has its network interface
  std::string why;        // it is taken
};

Result<TestedRdma> test_device(FabricOptions options) {
  const std::vector<RdmaDevice> devices = rdma_devices(options.rdma.root);
  if (devices.empty()) return Status(StatusCode::kNotFound, "this host has no RDMA device");
  const Result<UsableRdmaPort> port =
      usable_rdma_port(devices, RdmaUser::this_process(), options.interface, options.rdma.root);
  if (!port.ok()) return port.status();
  options.interface = port->interface;  // the provider might take another device
  const auto begin = std::chrono::steady_clock::now();
  const Status tested = test_rdma(options);
  if (!tested.ok()) {
    return Status(tested.code(),
                  port->name + " fails a self-test: " + std::string(tested.message()));
  }
  return TestedRdma{std::move(options),
                    port->name + " passed a self-test in " + milliseconds_since(begin)};
}

/// The RDMA device of auto, if it works, or null.
Opened open_tested(const FabricOptions& options) {
  const std::string& name = options.rdma.fabric;
  const Result<TestedRdma> tested = test_device(options);
  Opened opened = tested.ok() ? open_fabric(name, tested->options) : Opened(tested.status());
  if (!opened.ok()) {
    tell_of(name, "is not taken: " + std::string(opened.status().message()));
    return std::unique_ptr<Driver>();
  }
  tell_of(name, "is taken, with peers of other hosts that take it, too: " + tested->why);
  return opened;
}

DoorSecret new_secret(std::uint64_t common) {
  DoorSecret secret = random_secret();
  static_assert(sizeof(common) == sizeof(secret) / 2);
  if (common != 0) std::memcpy(secret.data(), &common, sizeof(common));
  return secret;
}

/// Null: the list does without it, and why was said.
Opened open_listed(const Listed& each, const FabricOptions& options) {
  if (each.of == Listed::Of::kAutoIfTested) return open_tested(options);
  Opened opened = open_fabric(each.name, options);
  if (each.of == Listed::Of::kUser) return opened;
  const bool is_shm = each.name == kShm;
  if (opened.ok()) {
    tell_of(each.name,
            is_shm ? "is taken, with processes of this host" : "is taken, with all others");
    return opened;
  }
  const StatusCode code = opened.status().code();
  const bool is_missing = code == StatusCode::kNotFound || code == StatusCode::kNoMemory;
  if (!is_shm || !is_missing) return opened;
  say(kAuto,
      "no shared memory with processes of this host: " + std::string(opened.status().message()));
  return std::unique_ptr<Driver>();
}

}  // namespace

const char* fabric_names() {
  static const std::string names = [] {
    std::string out;
    for (const Fabric& each : kFabrics) {
      if (each.tested != Tested::kNever) out += (out.empty() ? "" : ", ") + std::string(each.name);
    }
    return out;
  }();
  return names.c_str();
}

std::vector<std::string> fabrics_to_try() {
  std::vector<std::string> names;
  for (const Fabric& each : kFabrics) {
    if (each.asked == Asked::kYes) names.emplace_back(each.name);
  }
  return names;
}

Result<std::unique_ptr<Driver>> open_fabric(const std::string& name, const FabricOptions& options) {
  const Fabric* const fabric = find_fabric(name);
  if (fabric != nullptr) return fabric->open(name, options);
  const bool is_layer = name.rfind("ofi_", 0) == 0;
  return Status(
      StatusCode::kNotFound,
      "no fabric '" + name + "'; the fabrics are " + fabric_names() +
          (is_layer ? "; layers of a provider stand behind '+', as in ofi:tcp+" + name : ""));
}

std::vector<std::string> fabric_list(const std::string& names, const FabricOptions& options) {
  std::vector<std::string> list;
  for (const Listed& each : listed(names, options.rdma)) {
    if (each.of != Listed::Of::kAutoIfTested || tested_rdma(options).ok()) {
      list.push_back(each.name);
    }
  }
  return list;
}

Result<std::string> tested_rdma(const FabricOptions& options) {
  Result<TestedRdma> tested = test_device(options);
  if (!tested.ok()) return tested.status();
  return std::move(tested->why);
}

// Addresses of one secret are shorter in a card.
Result<std::vector<std::unique_ptr<Driver>>> open_fabrics(const std::string& names,
                                                          FabricOptions options) {
  const auto wrong = [&](const std::string& what) {
    return Status(StatusCode::kInvalidArgument,
                  "the list of fabrics '" + names + "' " + what +
                      "; a list is e.g. ucx:posix;tcp, those first that are preferred");
  };
  const std::vector<Listed> list = listed(names, options.rdma);
  if (list.size() > EngineAddress::kMostFabrics) {
    return wrong("has more than " + std::to_string(EngineAddress::kMostFabrics));
  }
  options.secret = new_secret(options.common_secret);
  std::vector<std::unique_ptr<Driver>> drivers;
  std::set<std::string> opened;
  for (const Listed& each : list) {
    auto driver = open_listed(each, options);
    if (!driver.ok()) return driver.status();
    // One that is missing here counts: lists are right or wrong on all hosts alike.
    const std::string& name = *driver ? driver.value()->caps().name : each.name;
    if (!opened.insert(name).second) return wrong("names " + name + " twice");
    if (*driver) drivers.push_back(std::move(*driver));
  }
  return drivers;
}

std::unique_ptr<Driver> open_self_fabric() {
  LoopbackOptions options;
  options.max_packet_bytes = OfiOptions().max_packet_bytes;  // a head of the eager limit fits
  return std::make_unique<LoopbackDriver>(std::make_shared<LoopbackNetwork>(options));
}

}  // namespace mad
