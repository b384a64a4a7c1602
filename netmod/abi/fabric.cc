#include "netmod/abi/fabric.h"

#include <algorithm>
#include <set>
#include <utility>

#include "madlike/base/say.h"
#include "madlike/driver/door/handshake.h"
#include "madlike/driver/loopback/loopback.h"
#include "madlike/driver/ofi/ofi.h"
#include "madlike/driver/shm/shm.h"
#include "madlike/driver/tcp/tcp.h"
#include "madlike/driver/ucx/names.h"
#include "netmod/abi/address.h"
#include "netmod/abi/ucx_plugin.h"

namespace mad {
namespace {

constexpr const char* kAuto = "auto";
constexpr const char* kLoopback = "loopback";
constexpr const char* kTcp = "tcp";
constexpr const char* kOfi = "ofi";
constexpr const char* kOfiPrefix = "ofi:";
constexpr const char* kShm = "shm";
constexpr char kBetween = ';';

// What a network is for engines of several hosts, this is for the engines of one process: a place
// they all share.  It is made at first use and never changes.
std::shared_ptr<LoopbackNetwork> process_network() {
  static const auto network = std::make_shared<LoopbackNetwork>();
  return network;
}

Result<std::unique_ptr<Driver>> open_provider(const std::string& provider,
                                              const FabricOptions& options) {
  OfiOptions ofi;
  ofi.provider = provider;
  ofi.interface = options.interface;
  ofi.linger = options.linger;
  ofi.close_timeout = std::max(ofi.close_timeout, options.linger);
  return open_ofi(ofi);
}

/// A fabric of a list.
struct Listed {
  std::string name;
  bool may_be_missing = false;
};

std::vector<Listed> listed(const std::string& names) {
  std::vector<Listed> list;
  for (std::size_t begin = 0; begin <= names.size();) {
    std::string name = names.substr(begin, names.find(kBetween, begin) - begin);
    begin += name.size() + 1;
    if (name == kAuto) {
      list.push_back({kShm, true});
      name = kTcp;
    }
    list.push_back({std::move(name)});
  }
  return list;
}

}  // namespace

const char* fabric_names() {
  return "auto, tcp, shm, ofi:tcp, ofi:PROVIDER, ucx, ucx:tcp, ucx:posix, "
         "ucx:posix,cma, loopback";
}

const std::vector<std::string>& fabrics_to_try() {
  static const std::vector<std::string> names = {kTcp,  kShm,        "ofi:tcp",       "ofi:verbs",
                                                 "ucx", "ucx:posix", "ucx:posix,cma", "ucx:tcp"};
  return names;
}

Result<std::unique_ptr<Driver>> open_fabric(const std::string& name, const FabricOptions& options) {
  if (name == kAuto) {
    return Status(StatusCode::kInvalidArgument, "auto is several fabrics: shm and tcp");
  }
  if (name == kLoopback) {
    return std::unique_ptr<Driver>(std::make_unique<LoopbackDriver>(process_network()));
  }
  if (name == kTcp) {
    TcpOptions tcp;
    tcp.interface = options.interface;
    tcp.secret = options.secret;
    tcp.silence_timeout = options.silence_timeout;
    return open_tcp(tcp);
  }
  if (is_ucx(name)) {
    Result<UcxOptions> ucx = ucx_options(name, options.interface);
    if (!ucx.ok()) return ucx.status();
    ucx->secret = options.secret;
    ucx->silence_timeout = options.silence_timeout;
    ucx->linger = options.linger;
    ucx->close_timeout = std::max(ucx->close_timeout, options.linger);
    return open_ucx_plugin(*ucx);
  }
  if (name == kShm) {
    ShmOptions shm;
    shm.secret = options.secret;
    return open_shm(shm);
  }
  if (name == kOfi) return open_provider(OfiOptions().provider, options);
  const std::string prefix = kOfiPrefix;
  if (name.size() > prefix.size() && name.compare(0, prefix.size(), prefix) == 0) {
    return open_provider(name.substr(prefix.size()), options);
  }
  return Status(StatusCode::kNotFound,
                "no fabric '" + name + "'; the fabrics are " + fabric_names());
}

std::vector<std::string> fabric_list(const std::string& names) {
  std::vector<std::string> list;
  for (const Listed& each : listed(names)) list.push_back(each.name);
  return list;
}

// Addresses of one secret are shorter in a card.
Result<std::vector<std::unique_ptr<Driver>>> open_fabrics(const std::string& names,
                                                          FabricOptions options) {
  const auto wrong = [&](const std::string& what) {
    return Status(StatusCode::kInvalidArgument,
                  "the list of fabrics '" + names + "' " + what +
                      "; a list is e.g. ucx:posix;tcp, those first that are preferred");
  };
  const std::vector<Listed> list = listed(names);
  if (list.size() > EngineAddress::kMostFabrics) {
    return wrong("has more than " + std::to_string(EngineAddress::kMostFabrics));
  }
  options.secret = random_secret();
  std::vector<std::unique_ptr<Driver>> drivers;
  std::set<std::string> opened;
  for (const Listed& each : list) {
    auto driver = open_fabric(each.name, options);
    const StatusCode code = driver.ok() ? StatusCode::kOk : driver.status().code();
    const bool is_missing = code == StatusCode::kNotFound || code == StatusCode::kNoMemory;
    if (is_missing && each.may_be_missing) {
      say("auto", "no shared memory with processes of this host: " +
                      std::string(driver.status().message()));
      continue;
    }
    if (!driver.ok()) return driver.status();
    const std::string& name = driver.value()->caps().name;
    if (!opened.insert(name).second) return wrong("names " + name + " twice");
    drivers.push_back(std::move(*driver));
  }
  return drivers;
}

std::unique_ptr<Driver> open_self_fabric() {
  LoopbackOptions options;
  options.max_packet_bytes = OfiOptions().max_packet_bytes;  // a head of the eager limit fits
  return std::make_unique<LoopbackDriver>(std::make_shared<LoopbackNetwork>(options));
}

}  // namespace mad
