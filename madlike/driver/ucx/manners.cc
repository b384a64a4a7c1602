#include "madlike/driver/ucx/manners.h"

#include <dlfcn.h>
#include <signal.h>
#include <ucs/debug/debug.h>
#include <ucs/debug/log_def.h>

#include <array>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>

#include "madlike/base/say.h"

namespace mad {
namespace {

// UCX's callback has no argument of ours.
thread_local UcxComplaints* complaints = nullptr;

// UCX's handlers are the process's, and it changes them without a lock.
struct {
  std::mutex mutex;
  int logs = 0;  // UcxLog objects
} process;

ucs_log_func_rc_t on_message(const char*, unsigned, const char*, ucs_log_level_t level,
                             const ucs_log_component_config_t*, const char* format,
                             std::va_list arguments) {
  if (level != UCS_LOG_LEVEL_ERROR && level != UCS_LOG_LEVEL_WARN) {
    return UCS_LOG_FUNC_RC_CONTINUE;
  }
  std::array<char, 512> line;
  std::vsnprintf(line.data(), line.size(), format, arguments);
  if (complaints != nullptr) {
    complaints->add(line.data());
  } else {
    say("ucx", line.data());
  }
  return UCS_LOG_FUNC_RC_STOP;
}

bool is_of_libucs(int signal_number) {
  struct sigaction current {};
  Dl_info info{};
  if (sigaction(signal_number, nullptr, &current) != 0) return false;
  const auto* handler = reinterpret_cast<const void*>(current.sa_handler);
  return handler != nullptr && dladdr(handler, &info) != 0 && info.dli_fname != nullptr &&
         std::strstr(info.dli_fname, "libucs.so") != nullptr;
}

}  // namespace

void restore_signal_handlers() {
  for (const char* name : {"UCX_HANDLE_ERRORS", "UCX_ERROR_SIGNALS", "UCX_DEBUG_SIGNO"}) {
    if (std::getenv(name) != nullptr) return;
  }
  const std::lock_guard<std::mutex> lock(process.mutex);
  for (const int number : {SIGILL, SIGSEGV, SIGBUS, SIGFPE, SIGHUP}) {
    if (is_of_libucs(number)) ucs_debug_disable_signal(number);
  }
}

UcxLog::UcxLog() {
  const std::lock_guard<std::mutex> lock(process.mutex);
  if (process.logs++ == 0) ucs_log_push_handler(on_message);
}

UcxLog::~UcxLog() {
  const std::lock_guard<std::mutex> lock(process.mutex);
  if (--process.logs == 0) ucs_log_pop_handler();
}

UcxComplaints::UcxComplaints() : outer_(complaints) { complaints = this; }
UcxComplaints::~UcxComplaints() { complaints = outer_; }

}  // namespace mad
