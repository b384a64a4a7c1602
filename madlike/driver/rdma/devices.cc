#include "madlike/driver/rdma/devices.h"

#include <dirent.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <initializer_list>
#include <map>
#include <memory>
#include <string_view>
#include <utility>

namespace mad {
namespace {

std::string joined(std::initializer_list<std::string_view> parts) {
  std::string text;
  for (const std::string_view part : parts) text += part;
  return text;
}

/// Of the file at the joined parts.  Empty: there is none, or it cannot be read, as those of
/// addresses that are not in use.
std::string first_line(std::initializer_list<std::string_view> path) {
  std::string line;
  std::ifstream file(joined(path));
  std::getline(file, line);
  return line;
}

/// "ACTIVE" of "4: ACTIVE".
std::string after_colon(const std::string& line) {
  const std::size_t colon = line.find(": ");
  return colon == std::string::npos ? line : line.substr(colon + 2);
}

// Every address has a type or an interface; the table has a place for many more.
std::vector<RdmaAddress> addresses_at(const std::string& port) {
  std::vector<RdmaAddress> addresses;
  for (const std::string& index : names_in(port + "/gids")) {
    RdmaAddress address;
    address.index = std::atoi(index.c_str());
    address.type = first_line({port, "/gid_attrs/types/", index});
    address.interface = first_line({port, "/gid_attrs/ndevs/", index});
    if (address.type.empty() && address.interface.empty()) continue;
    address.gid = first_line({port, "/gids/", index});
    addresses.push_back(std::move(address));
  }
  std::sort(addresses.begin(), addresses.end(),
            [](const RdmaAddress& a, const RdmaAddress& b) { return a.index < b.index; });
  return addresses;
}

std::vector<RdmaPort> ports_at(const std::string& ports) {
  std::vector<RdmaPort> out;
  for (const std::string& number : names_in(ports)) {
    const std::string path = joined({ports, "/", number});
    out.push_back({number, after_colon(first_line({path, "/state"})),
                   first_line({path, "/link_layer"}), first_line({path, "/rate"}),
                   addresses_at(path)});
  }
  return out;
}

/// Device -> its node in /dev/infiniband.
std::map<std::string, std::string> nodes_at(const std::string& directory) {
  std::map<std::string, std::string> nodes;
  for (const std::string& node : names_in(directory)) {
    const std::string device = first_line({directory, "/", node, "/ibdev"});
    if (!device.empty()) nodes[device] = node;
  }
  return nodes;
}

}  // namespace

bool RdmaAddress::is_ipv4() const { return gid.rfind("0000:0000:0000:0000:0000:ffff:", 0) == 0; }

std::vector<std::string> RdmaDevice::interfaces_of(const RdmaPort& port) const {
  std::vector<std::string> all = interfaces;
  for (const RdmaAddress& address : port.addresses) {
    const bool is_new = std::find(all.begin(), all.end(), address.interface) == all.end();
    if (!address.interface.empty() && is_new) all.push_back(address.interface);
  }
  return all;
}

std::vector<std::string> names_in(const std::string& directory) {
  std::vector<std::string> names;
  const std::unique_ptr<DIR, int (*)(DIR*)> all(opendir(directory.c_str()), closedir);
  if (!all) return names;
  while (const dirent* const each = readdir(all.get())) {
    if (each->d_name[0] != '.') names.emplace_back(each->d_name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::vector<RdmaDevice> rdma_devices(const std::string& root) {
  const std::string all = root + "/sys/class/infiniband";
  std::vector<RdmaDevice> devices;
  for (const std::string& name : names_in(all)) {
    const std::string path = joined({all, "/", name});
    devices.push_back({name, first_line({path, "/fw_ver"}), "", names_in(path + "/device/net"),
                       ports_at(path + "/ports")});
  }
  if (devices.empty()) return devices;
  std::map<std::string, std::string> nodes = nodes_at(root + "/sys/class/infiniband_verbs");
  for (RdmaDevice& device : devices) device.node = nodes[device.name];
  return devices;
}

}  // namespace mad
