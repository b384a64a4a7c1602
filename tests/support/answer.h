// What a program of ours says and ends with, called as a function.
#ifndef TESTS_SUPPORT_ANSWER_H_
#define TESTS_SUPPORT_ANSWER_H_

#include <cstdlib>
#include <ostream>
#include <sstream>
#include <string>
#include <vector>

namespace mad::test {

struct Answer {
  int code;
  std::string out, err;
};

using Command = int (*)(int argc, const char* const* argv, std::ostream& out, std::ostream& err);

/// `command` called with `words`, the first of which is its name, and with nobody's files of costs.
inline Answer answer_of(Command command, const std::vector<const char*>& words) {
  ::setenv("XDG_CONFIG_HOME", "/no/such/directory", 1);
  std::ostringstream out, err;
  const int code = command(static_cast<int>(words.size()), words.data(), out, err);
  return {code, out.str(), err.str()};
}

}  // namespace mad::test

#endif  // TESTS_SUPPORT_ANSWER_H_
