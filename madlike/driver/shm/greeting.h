// ShmAddress: what names an engine; ShmGreeting: what engines say to each other when they meet, a
// letter that only the engine it is for can read, and only who knows that engine's secret can
// write.
#ifndef MADLIKE_DRIVER_SHM_GREETING_H_
#define MADLIKE_DRIVER_SHM_GREETING_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "madlike/base/status.h"
#include "madlike/driver/door/secret.h"

namespace mad {

struct ShmAddress {
  static constexpr std::size_t kBytes = 24;
  /// kInvalidArgument: not the bytes() of one.
  static Result<ShmAddress> parse(const std::byte* bytes, std::size_t size);
  std::vector<std::byte> bytes() const;

  std::uint32_t pid = 0;  // a pid_t, as its own process sees it; no engine has 0
  DoorSecret secret{};
};

struct ShmGreeting {
  static constexpr std::size_t kBytes = 96;
  enum class Kind : std::uint32_t {
    kMeet = 1,  // with the sender's segment
    kRefuse     // a kMeet of the receiver's
  };
  enum class Reason : std::uint32_t {
    kNone,
    kOtherUser,
    kOtherPids,
    kOtherLayout,
    kBadMemory,
    kLacksMemory
  };

  /// Sealed for the engine with this secret.
  std::array<std::byte, kBytes> seal(const DoorSecret& receiver) const;
  /// Empty: no engine of this version that knows the secret sent this.
  static std::optional<ShmGreeting> open(const std::byte* bytes, std::size_t size,
                                         const DoorSecret& receiver);
  /// What a refusal means to who is refused.
  Status refusal() const;

  Kind kind = Kind::kMeet;
  ShmAddress sender;
  std::uint64_t session = 0;  // kMeet: the sender's number of the connection; kRefuse: of what
  std::uint32_t place = 0;    // of the sender's lane to the receiver
  std::uint32_t place_bytes = 0, piece_bytes = 0;  // must be ours
  Reason reason = Reason::kNone;
};

}  // namespace mad

#endif  // MADLIKE_DRIVER_SHM_GREETING_H_
