// info: the fabrics that this machine has, what each can do, and why one cannot be used.
#ifndef PERF_INFO_COMMAND_H_
#define PERF_INFO_COMMAND_H_

#include <ostream>

namespace info {

/// The program.  Returns its exit code: 0, 1 if a fabric that was asked for by name cannot be used,
/// 2 after wrong use.
int command(int argc, const char* const* argv, std::ostream& out, std::ostream& err);

}  // namespace info

#endif  // PERF_INFO_COMMAND_H_
