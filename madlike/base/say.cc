#include "madlike/base/say.h"

#include <cstdio>
#include <cstdlib>

namespace mad {

void say(const std::string& who, const std::string& sentence) {
  std::fprintf(stderr, "%s: %s\n", who.c_str(), sentence.c_str());
}

bool is_verbose() {
  const char* const value = std::getenv("MAD_VERBOSE");
  return value != nullptr && *value != '\0' && std::string(value) != "0";
}

}  // namespace mad
