// SessionTest: two engines of a test that send each other Madeleine messages.
#ifndef MADLIKE_MESSAGE_SESSION_SESSION_FIXTURE_H_
#define MADLIKE_MESSAGE_SESSION_SESSION_FIXTURE_H_

#include <gtest/gtest.h>

#include <functional>
#include <memory>

#include "madlike/message/session/session_hub.h"
#include "tests/fault/session_party.h"
#include "tests/support/bytes.h"

namespace mad {

inline constexpr int kLong = 10000;  // milliseconds; nothing takes that long

inline Segment of(Bytes& bytes) { return {bytes.data(), bytes.size()}; }

template <typename T>
inline Segment of(T& value) {
  return {&value, sizeof(value)};
}

class SessionTest : public ::testing::Test {
 protected:
  std::shared_ptr<LoopbackNetwork> network = std::make_shared<LoopbackNetwork>();
  test::SessionParty a{network, FaultPlan{}};
  test::SessionParty b{network, FaultPlan{}};

  // b takes the next message apart with `unpack`.
  Status receive(const std::function<void(UnpackingSession&)>& unpack) {
    UnpackingSession* const session = b.hub().begin_unpacking(kLong);
    if (session == nullptr) return Status(StatusCode::kNotFound, "no message came");
    unpack(*session);
    return b.hub().end(*session);
  }
};

}  // namespace mad

#endif  // MADLIKE_MESSAGE_SESSION_SESSION_FIXTURE_H_
