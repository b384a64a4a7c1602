// command: the command line of explain.
#ifndef PERF_EXPLAIN_COMMAND_H_
#define PERF_EXPLAIN_COMMAND_H_

#include <ostream>

namespace explain {

/// Returns the exit code: 0, or 2 for wrong use and whatever is not there, with a line in `err`.
int command(int argc, const char* const* argv, std::ostream& out, std::ostream& err);

}  // namespace explain

#endif  // PERF_EXPLAIN_COMMAND_H_
