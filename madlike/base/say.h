// say(): what the user of this process has to know though no call fails.
#ifndef MADLIKE_BASE_SAY_H_
#define MADLIKE_BASE_SAY_H_

#include <string>

namespace mad {

/// One line on standard error, "WHO: SENTENCE".
void say(const std::string& who, const std::string& sentence);

/// Whether this user wants to be told of what goes well, too: MAD_VERBOSE is set, and not to 0.
bool is_verbose();

}  // namespace mad

#endif  // MADLIKE_BASE_SAY_H_
