// errors: how the C interface says what went wrong.
//
// Inside, a room returns a Status; at the boundary it becomes a mad_status and a sentence kept per
// thread for mad_last_error().  Nothing here is touched on success.
#ifndef NETMOD_ABI_ERRORS_H_
#define NETMOD_ABI_ERRORS_H_

#include <exception>
#include <new>
#include <string>

#include "madlike/base/status.h"
#include "netmod/abi/mad.h"

namespace mad {

/// Keeps `sentence` for mad_last_error() and returns `code`.
int fail(mad_status code, std::string sentence);

/// The C value of a status that is neither ok nor kInProgress; an error's sentence is kept for
/// mad_last_error(), if there is memory for it.
int failure_to_abi(const Status& status);
/// The C value of any.
inline int to_abi(const Status& status) {
  if (status.ok()) return MAD_SUCCESS;
  return status.in_progress() ? static_cast<int>(MAD_IN_PROGRESS) : failure_to_abi(status);
}

/// The C value of a code alone; nothing is kept.
mad_status to_mad_status(StatusCode code);

/// Runs a function of the C interface; an exception (memory, in practice) becomes an error code.
template <typename Function>
[[gnu::always_inline]] inline int guarded(Function&& function) noexcept {
  try {
    return function();
  } catch (const std::bad_alloc&) {
    return fail(MAD_ERR_MEMORY, "out of memory");
  } catch (const std::exception& error) {
    return fail(MAD_ERR_INTERNAL, error.what());
  }
}

}  // namespace mad

#endif  // NETMOD_ABI_ERRORS_H_
