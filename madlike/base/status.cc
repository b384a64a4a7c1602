#include "madlike/base/status.h"

namespace mad {

std::string_view to_string(StatusCode code) {
  switch (code) {
    case StatusCode::kOk:
      return "ok";
    case StatusCode::kInProgress:
      return "in progress";
    case StatusCode::kAgain:
      return "try again";
    case StatusCode::kInvalidArgument:
      return "invalid argument";
    case StatusCode::kNotFound:
      return "not found";
    case StatusCode::kUnreachable:
      return "unreachable";
    case StatusCode::kPeerFailed:
      return "peer failed";
    case StatusCode::kTruncated:
      return "truncated";
    case StatusCode::kNoMemory:
      return "out of memory";
    case StatusCode::kProtocol:
      return "protocol error";
    case StatusCode::kVersion:
      return "version mismatch";
    case StatusCode::kClosed:
      return "closed";
    case StatusCode::kInternal:
      return "internal error";
    case StatusCode::kCorrupt:
      return "corrupt";
    case StatusCode::kUnrepresentable:
      return "unrepresentable";
  }
  return "unknown status";
}

}  // namespace mad
