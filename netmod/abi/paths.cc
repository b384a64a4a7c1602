// The names of the data paths: mad_path_parse(), mad_path_name(), mad_path_names().
#include <array>
#include <cstring>
#include <string>

#include "netmod/abi/c_enum.h"
#include "netmod/abi/errors.h"
#include "netmod/abi/mad.h"

namespace {

constexpr std::array<const char*, MAD_PATH_COUNT> kNames = {"auto",     "gather", "hybrid",
                                                            "pipeline", "pack",   "off"};

}  // namespace

extern "C" const char* mad_path_name(mad_path path) {
  const int number = mad::c_value(path);
  return number >= 0 && number < MAD_PATH_COUNT ? kNames[static_cast<std::size_t>(number)]
                                                : "unknown";
}

extern "C" const char* mad_path_names(void) { return "auto, gather, hybrid, pipeline, pack, off"; }

extern "C" int mad_path_parse(const char* name, mad_path* path) {
  return mad::guarded([&]() -> int {
    if (name == nullptr || path == nullptr) {
      return mad::fail(MAD_ERR_ARGUMENT, "mad_path_parse: name and path must not be NULL");
    }
    for (int i = 0; i < MAD_PATH_COUNT; ++i) {
      if (std::strcmp(name, kNames[i]) == 0) {
        *path = static_cast<mad_path>(i);
        return MAD_SUCCESS;
      }
    }
    return mad::fail(MAD_ERR_ARGUMENT, "unknown data path '" + std::string(name) +
                                           "'; the paths are " + mad_path_names());
  });
}
