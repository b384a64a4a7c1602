// Status and Result: how every room says what happened.
//
// A Status is a value: a code and, for errors only, a sentence that tells a person what was wrong,
// what was expected and what to do.  Success costs no allocation.  kAgain is back-pressure (the
// call had no effect, try again after progress), never an error.  No exception leaves the library.
#ifndef MADLIKE_BASE_STATUS_H_
#define MADLIKE_BASE_STATUS_H_

#include <cassert>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace mad {

enum class StatusCode : int {
  kOk = 0,
  kInProgress,       // accepted; a completion follows
  kAgain,            // back-pressure: nothing was done, progress and try again
  kInvalidArgument,  // the caller's value is wrong
  kNotFound,         // no such fabric, provider or interface here
  kUnreachable,      // the peer's address cannot be reached
  kPeerFailed,       // the peer died or its connection broke
  kTruncated,        // more bytes arrived than the receiver has room for
  kNoMemory,         // a system allocation failed
  kProtocol,         // bytes that no engine of this version sends
  kVersion,          // the other side speaks another version
  kClosed,           // the engine or peer was closed in good order
  kInternal,         // a broken invariant of ours
  kCorrupt,          // bytes arrived that are not those that were sent
  kUnrepresentable,  // another machine's value that this one, or a type of it, cannot have
};

/// The code's name as it stands in messages, e.g. "peer failed".
std::string_view to_string(StatusCode code);

class [[nodiscard]] Status {
 public:
  Status() = default;
  // A code is a status.
  Status(StatusCode code) : code_(code) {}  // NOLINT(google-explicit-constructor)
  Status(StatusCode code, std::string message)
      : code_(code), message_(std::make_shared<const std::string>(std::move(message))) {}

  StatusCode code() const { return code_; }
  bool ok() const { return code_ == StatusCode::kOk; }
  bool again() const { return code_ == StatusCode::kAgain; }
  bool in_progress() const { return code_ == StatusCode::kInProgress; }
  bool error() const { return code_ > StatusCode::kAgain; }
  /// The sentence given with an error, or the code's name.
  std::string_view message() const {
    return message_ ? std::string_view(*message_) : to_string(code_);
  }

 private:
  StatusCode code_ = StatusCode::kOk;
  std::shared_ptr<const std::string> message_;
};

/// A value, or the error that stands in its place.
template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : value_(std::move(value)) {}         // NOLINT(google-explicit-constructor)
  Result(Status status) : status_(std::move(status)) {  // NOLINT(google-explicit-constructor)
    assert(!status_.ok());
  }
  bool ok() const { return value_.has_value(); }
  const Status& status() const { return status_; }
  T& value() {
    assert(ok());
    return *value_;
  }
  const T& value() const {
    assert(ok());
    return *value_;
  }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }
  T& operator*() { return value(); }
  const T& operator*() const { return value(); }

 private:
  std::optional<T> value_;
  Status status_;
};

}  // namespace mad

#endif  // MADLIKE_BASE_STATUS_H_
