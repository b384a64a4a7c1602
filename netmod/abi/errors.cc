#include "netmod/abi/errors.h"

#include <utility>

namespace mad {
namespace {

thread_local std::string last_error;

}  // namespace

int fail(mad_status code, std::string sentence) {
  last_error = std::move(sentence);
  return code;
}

mad_status to_mad_status(StatusCode code) {
  switch (code) {
    case StatusCode::kOk:
      return MAD_SUCCESS;
    case StatusCode::kInProgress:
      return MAD_IN_PROGRESS;
    case StatusCode::kInvalidArgument:
      return MAD_ERR_ARGUMENT;
    case StatusCode::kNotFound:
      return MAD_ERR_NOT_FOUND;
    case StatusCode::kUnreachable:
      return MAD_ERR_UNREACHABLE;
    case StatusCode::kPeerFailed:
      return MAD_ERR_PEER_FAILED;
    case StatusCode::kTruncated:
      return MAD_ERR_TRUNCATED;
    case StatusCode::kNoMemory:
      return MAD_ERR_MEMORY;
    case StatusCode::kProtocol:
      return MAD_ERR_PROTOCOL;
    case StatusCode::kVersion:
      return MAD_ERR_VERSION;
    case StatusCode::kClosed:
      return MAD_ERR_CLOSED;
    case StatusCode::kCorrupt:
      return MAD_ERR_CORRUPT;
    case StatusCode::kUnrepresentable:
      return MAD_ERR_CONVERSION;
    case StatusCode::kAgain:  // back-pressure never reaches the C interface
    case StatusCode::kInternal:
      return MAD_ERR_INTERNAL;
  }
  return MAD_ERR_INTERNAL;
}

int failure_to_abi(const Status& status) {
  const mad_status code = to_mad_status(status.code());
  try {
    return fail(code, std::string(status.message()));
  } catch (const std::bad_alloc&) {
    last_error = "out of memory";  // so short that it takes none
    return code;
  }
}

}  // namespace mad

extern "C" const char* mad_last_error(void) { return mad::last_error.c_str(); }
