#include "madlike/driver/ucx/rdma_device.h"

#include <dirent.h>
#include <sys/stat.h>

#include <algorithm>
#include <fstream>
#include <initializer_list>
#include <memory>
#include <string_view>
#include <vector>

namespace mad {
namespace {

/// The names in a directory, in order.
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

/// Empty: there is none, or it cannot be read, as those of addresses that are not in use.
std::string first_line(const std::string& path) {
  std::string line;
  std::ifstream file(path);
  std::getline(file, line);
  return line;
}

std::string joined(std::initializer_list<std::string_view> parts) {
  std::string text;
  for (const std::string_view part : parts) text += part;
  return text;
}

/// How good the address of this index is for the interface; 0: it is another's.
int fitness(const std::string& port, const std::string& index, const std::string& interface) {
  if (first_line(joined({port, "/gid_attrs/ndevs/", index})) != interface) return 0;
  const bool is_v2 = first_line(joined({port, "/gid_attrs/types/", index})) == "RoCE v2";
  const bool is_ipv4 =
      first_line(joined({port, "/gids/", index})).rfind("0000:0000:0000:0000:0000:ffff:") == 0;
  return 1 + (is_v2 ? 2 : 0) + (is_ipv4 ? 1 : 0);
}

}  // namespace

std::optional<RdmaDevice> rdma_device_of(const std::string& interface, const std::string& root) {
  std::optional<RdmaDevice> found;
  int best = 0;
  for (const std::string& device : names_in(root)) {
    const std::string path = joined({root, "/", device});
    for (const std::string& port : names_in(joined({path, "/ports"}))) {
      const std::string port_path = joined({path, "/ports/", port});
      for (const std::string& index : names_in(joined({port_path, "/gid_attrs/ndevs"}))) {
        const int fits = fitness(port_path, index, interface);
        if (fits <= best) continue;
        best = fits;
        found = RdmaDevice{joined({device, ":", port}), std::stoi(index)};
      }
    }
    struct stat there {};
    if (!found && stat(joined({path, "/device/net/", interface}).c_str(), &there) == 0) {
      found = RdmaDevice{device + ":1", -1};  // InfiniBand, and IP over it
    }
  }
  return found;
}

}  // namespace mad
