#include "netmod/abi/fabric.h"

#include <algorithm>
#include <filesystem>
#include <set>
#include <system_error>
#include <utility>

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

// The directory first: asking libfabric for verbs takes a third of a second.
Result<std::unique_ptr<Driver>> open_auto_fabric(const FabricOptions& options,
                                                 const std::string& rdma_devices) {
  std::error_code error;
  const std::filesystem::directory_iterator devices(rdma_devices, error), none;
  if (!error && devices != none) {
    auto verbs = open_provider("verbs", options);
    if (verbs.ok()) return verbs;
  }
  return open_fabric(kTcp, options);
}

Result<std::unique_ptr<Driver>> open_fabric(const std::string& name, const FabricOptions& options) {
  if (name == kAuto) return open_auto_fabric(options);
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
  for (std::size_t begin = 0; begin <= names.size(); begin += list.back().size() + 1) {
    list.push_back(names.substr(begin, names.find(kBetween, begin) - begin));
  }
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
  const std::vector<std::string> list = fabric_list(names);
  if (list.size() > EngineAddress::kMostFabrics) {
    return wrong("has more than " + std::to_string(EngineAddress::kMostFabrics));
  }
  options.secret = random_secret();
  std::vector<std::unique_ptr<Driver>> drivers;
  std::set<std::string> opened;
  for (const std::string& each : list) {
    auto driver = open_fabric(each, options);
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
