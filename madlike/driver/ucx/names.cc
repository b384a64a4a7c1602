#include "madlike/driver/ucx/names.h"

#include <algorithm>
#include <cstddef>
#include <string_view>

namespace mad {
namespace {

constexpr std::string_view kUcx = "ucx";
constexpr std::string_view kPrefix = "ucx:";

bool* flag_of(const std::string& transport, UcxOptions* options) {
  if (transport == "posix") return &options->posix;
  if (transport == "cma") return &options->cma;
  return transport == "tcp" ? &options->tcp : nullptr;
}

}  // namespace

bool is_ucx(const std::string& fabric) {
  return fabric == kUcx || fabric.compare(0, kPrefix.size(), kPrefix) == 0;
}

Result<UcxOptions> ucx_options(const std::string& fabric, const std::string& interface) {
  UcxOptions options;
  options.interface = interface;
  if (fabric == kUcx) return options;
  options.posix = options.tcp = false;
  for (std::size_t at = kPrefix.size(); at <= fabric.size();) {
    const std::size_t comma = std::min(fabric.find(',', at), fabric.size());
    const std::string transport = fabric.substr(at, comma - at);
    bool* const flag = flag_of(transport, &options);
    if (flag == nullptr) {
      std::string why = "no fabric '" + fabric + "': ucx has no transport '";
      why += transport + "' but posix, cma and tcp, as in ucx:posix,cma";
      return Status(StatusCode::kNotFound, why);
    }
    *flag = true;
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
  if (options.posix && options.tcp && !options.cma) return std::string(kUcx);
  std::string name(kPrefix);
  if (options.posix) name += "posix,";
  if (options.cma) name += "cma,";
  if (options.tcp) name += "tcp,";
  name.pop_back();
  return name;
}

}  // namespace mad
