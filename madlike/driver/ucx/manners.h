// Manners: what UCX's libraries do to a process that loads them, undone.
//
// Loading libucs installs handlers for SIGSEGV, SIGHUP and others, and its messages go to standard
// output.  Both are the program's.
#ifndef MADLIKE_DRIVER_UCX_MANNERS_H_
#define MADLIKE_DRIVER_UCX_MANNERS_H_

#include <string>

namespace mad {

/// Puts back the signal handlers that libucs replaced, unless the environment asks for its own:
/// UCX_HANDLE_ERRORS, UCX_ERROR_SIGNALS or UCX_DEBUG_SIGNO.
void restore_signal_handlers();

/// While one exists, UCX's errors and warnings go to standard error.  All of them share one
/// handler: UCX has room for few.
class UcxLog {
 public:
  UcxLog();
  ~UcxLog();
  UcxLog(const UcxLog&) = delete;
  UcxLog& operator=(const UcxLog&) = delete;
};

/// While one exists, those of this thread's calls are kept instead, by the last one made.
class UcxComplaints {
 public:
  UcxComplaints();
  ~UcxComplaints();
  UcxComplaints(const UcxComplaints&) = delete;
  UcxComplaints& operator=(const UcxComplaints&) = delete;
  /// " (the first of them)", which is the cause of the others, or nothing.
  std::string first() const { return first_.empty() ? "" : " (" + first_ + ")"; }
  void add(const char* line) {
    if (first_.empty()) first_ = line;
  }

 private:
  UcxComplaints* outer_;
  std::string first_;
};

}  // namespace mad

#endif  // MADLIKE_DRIVER_UCX_MANNERS_H_
