#include "madlike/driver/ucx/names.h"

#include <algorithm>
#include <cstddef>
#include <string_view>

namespace mad {
namespace {

constexpr std::string_view kUcx = "ucx";
constexpr std::string_view kPrefix = "ucx:";

constexpr std::string_view kVerbs = "_verbs";

/// False: there is no such transport.
bool choose(const std::string& transport, UcxOptions* options) {
  if (transport == "posix") return options->posix = true;
  if (transport == "cma") return options->cma = true;
  if (transport == "tcp") return options->tcp = true;
  const bool is_short = transport == "rc" || transport == "ud";
  const std::string name = is_short ? transport + std::string(kVerbs) : transport;
  if (is_short || name == "rc_mlx5" || name == "dc_mlx5" || name == "ud_mlx5") {
    (name[0] == 'u' ? options->ud : options->rc) = name;
    return true;
  }
  return false;
}

std::string short_name(const std::string& transport) {
  const std::size_t verbs = transport.find(kVerbs);
  return verbs == std::string::npos ? transport : transport.substr(0, verbs);
}

}  // namespace

bool is_ucx(const std::string& fabric) {
  return fabric == kUcx || fabric.compare(0, kPrefix.size(), kPrefix) == 0;
}

Result<UcxOptions> ucx_options(const std::string& fabric, const std::string& interface) {
  UcxOptions options;
  options.interface = interface;
  if (fabric == kUcx) {
    options.rc = "rc_verbs";
    return options;
  }
  options.posix = options.tcp = false;
  for (std::size_t at = kPrefix.size(); at <= fabric.size();) {
    const std::size_t comma = std::min(fabric.find(',', at), fabric.size());
    const std::string transport = fabric.substr(at, comma - at);
    if (!choose(transport, &options)) {
      std::string why = "no fabric '" + fabric + "': ucx has no transport '";
      why += transport + "' but posix, cma, rc, ud and tcp, as in ucx:posix,cma";
      return Status(StatusCode::kNotFound, why);
    }
    at = comma + 1;
  }
  if (options.cma && !options.posix) {
    return Status(StatusCode::kInvalidArgument,
                  "no fabric '" + fabric +
                      "': cma moves the long parts of messages and needs posix for the rest, as in "
                      "ucx:posix,cma");
  }
  return options;
}

std::string ucx_name(const UcxOptions& options) {
  const bool is_plain = (options.rc.empty() || options.rc == "rc_verbs") && options.ud.empty();
  if (options.posix && options.tcp && !options.cma && is_plain) return std::string(kUcx);
  std::string name(kPrefix);
  if (options.posix) name += "posix,";
  if (options.cma) name += "cma,";
  if (!options.rc.empty()) name += short_name(options.rc) + ",";
  if (!options.ud.empty()) name += short_name(options.ud) + ",";
  if (options.tcp) name += "tcp,";
  name.pop_back();
  return name;
}

}  // namespace mad
