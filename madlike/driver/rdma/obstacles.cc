#include "madlike/driver/rdma/obstacles.h"

#include <sys/resource.h>
#include <unistd.h>

#include <fstream>
#include <optional>
#include <utility>

#include "madlike/driver/ip/address.h"

namespace mad {
namespace {

constexpr std::uint64_t kKiB = 1024;
constexpr std::uint64_t kMiB = kKiB * 1024;
constexpr int kMayLock = 14;  // CAP_IPC_LOCK, capabilities(7)

/// Whether the kernel lets this process lock more than its limit says.
bool is_exempt() {
  std::ifstream file("/proc/self/status");
  for (std::string word; file >> word;) {
    if (word != "CapEff:") continue;
    std::uint64_t capabilities = 0;
    file >> std::hex >> capabilities;
    return ((capabilities >> kMayLock) & 1) != 0;
  }
  return false;
}

bool may_open(const std::string& path) { return access(path.c_str(), R_OK | W_OK) == 0; }

/// How a file of the device is in the way; empty: it is not.
std::string obstacle_of_file(const std::string& path, const std::string& root,
                             const char* module_of_it) {
  const std::string there = root + path;
  if (may_open(there)) return "";
  if (access(there.c_str(), F_OK) == 0) {
    return path +
           " may not be read and written by this user: it takes its group, or a rule of udev";
  }
  return path + " is missing: load the kernel module " + module_of_it +
         ", and give a container the devices in /dev/infiniband";
}

/// By which connections can be made with this port; empty: there is none.
std::string usable_interface(const RdmaDevice& device, const RdmaPort& port, const RdmaUser& user,
                             const std::string& interface) {
  for (const std::string& name : device.interfaces_of(port)) {
    const bool is_asked_for = interface.empty() || name == interface;
    if (is_asked_for && user.interfaces.count(name) > 0) return name;
  }
  return "";
}

std::optional<UsableRdmaPort> find_port(const RdmaDevice& device, const RdmaUser& user,
                                        const std::string& interface) {
  for (const RdmaPort& port : device.ports) {
    if (!port.active()) continue;
    std::string usable = usable_interface(device, port, user, interface);
    if (usable.empty()) continue;
    return UsableRdmaPort{device.name + " port " + port.number, std::move(usable)};
  }
  return std::nullopt;
}

std::string obstacle_of_ports(const RdmaDevice& device, const RdmaUser& user,
                              const std::string& interface) {
  if (find_port(device, user, interface)) return "";
  std::string states;
  for (const RdmaPort& port : device.ports) {
    if (port.active()) {
      return interface.empty()
                 ? "no port that is up has a network interface with an IP address, by which "
                   "connections are made: give it one (for InfiniBand, that of IP over it)"
                 : "no port that is up has the network interface " + interface;
    }
    states += (states.empty() ? "port " : ", port ") + port.number + " is " +
              (port.state.empty() ? "in no known state" : port.state);
  }
  return states.empty() ? "it has no port" : "no port is up: " + states;
}

}  // namespace

std::uint64_t lockable_bytes() {
  rlimit limit{};
  const bool is_limited =
      !is_exempt() && getrlimit(RLIMIT_MEMLOCK, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
  return is_limited ? limit.rlim_cur : RdmaUser::kAllBytes;
}

RdmaUser RdmaUser::this_process() {
  RdmaUser user;
  user.locked_bytes = lockable_bytes();
  user.interfaces = interface_names();
  return user;
}

std::string locked_text(std::uint64_t bytes) {
  if (bytes == RdmaUser::kAllBytes) return "any amount";
  const bool is_mib = bytes >= kMiB && bytes % kMiB == 0;
  return std::to_string(bytes / (is_mib ? kMiB : kKiB)) + (is_mib ? " MiB" : " KiB");
}

std::vector<std::string> rdma_obstacles(const RdmaDevice& device, const RdmaUser& user,
                                        const std::string& interface, const std::string& root) {
  std::vector<std::string> all;
  const auto add = [&](std::string obstacle) {
    if (!obstacle.empty()) all.push_back(std::move(obstacle));
  };
  add(obstacle_of_ports(device, user, interface));
  if (device.node.empty()) {
    add("it has no node in /dev/infiniband: load the kernel module ib_uverbs");
  } else {
    add(obstacle_of_file("/dev/infiniband/" + device.node, root, "ib_uverbs"));
  }
  add(obstacle_of_file("/dev/infiniband/rdma_cm", root, "rdma_ucm"));
  if (user.locked_bytes < RdmaUser::kNeededBytes) {
    add("this process may lock " + locked_text(user.locked_bytes) + " of memory, and needs " +
        locked_text(RdmaUser::kNeededBytes) + ": raise its limit (ulimit -l)");
  }
  return all;
}

Result<UsableRdmaPort> usable_rdma_port(const std::vector<RdmaDevice>& devices,
                                        const RdmaUser& user, const std::string& interface,
                                        const std::string& root) {
  std::string why;
  for (const RdmaDevice& device : devices) {
    const std::vector<std::string> obstacles = rdma_obstacles(device, user, interface, root);
    if (obstacles.empty()) return *find_port(device, user, interface);
    why += (why.empty() ? "" : "; ") + device.name + ": " + obstacles.front();
  }
  return Status(StatusCode::kNotFound, why.empty() ? "this host has no RDMA device" : why);
}

}  // namespace mad
