#include "madlike/base/say.h"

#include <cstdio>

namespace mad {

void say(const std::string& who, const std::string& sentence) {
  std::fprintf(stderr, "%s: %s\n", who.c_str(), sentence.c_str());
}

}  // namespace mad
