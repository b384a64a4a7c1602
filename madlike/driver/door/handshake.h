// The handshake of two engines over a TCP connection: whoever connects proves that it knows the
// secret in the listener's address, the listener proves that it knows it too, and the secret does
// not travel.
//
//   connector                      listener
//   request:   nonce           →
//                              ←   challenge: nonce
//   answer:    sealed address  →
//                              ←   verdict: sealed {accepted | crossing}
//
// Sealed is encrypted and authenticated (libsodium's secretbox) under a key made of the secret and
// both nonces.  Addresses, which hold secrets, travel sealed only.  What follows a verdict is not
// protected.
#ifndef MADLIKE_DRIVER_DOOR_HANDSHAKE_H_
#define MADLIKE_DRIVER_DOOR_HANDSHAKE_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <vector>

#include "madlike/base/status.h"
#include "madlike/driver/door/secret.h"

namespace mad {

/// What a fabric's messages begin with, e.g. "MADTCP".
using DoorMagic = std::array<char, 6>;
using DoorNonce = std::array<std::byte, 16>;
using DoorKey = std::array<std::byte, 32>;

/// Where an engine listens, and the secret of those who may connect to it.
struct DoorAddress {
  static constexpr std::size_t kMostBytes = 64;
  /// kInvalidArgument: not the bytes() of such an address.
  static Result<DoorAddress> parse(const std::byte* bytes, std::size_t size);
  std::vector<std::byte> bytes() const;

  std::vector<std::byte> socket;  // see madlike/driver/ip/address.h
  DoorSecret secret{};
};

/// Random values that nobody can guess.
DoorSecret random_secret();
DoorNonce random_nonce();
/// Not 0.
template <typename Number>
Number random_number() {
  const DoorNonce random = random_nonce();
  Number number = 0;
  static_assert(sizeof(number) <= sizeof(random));
  std::memcpy(&number, random.data(), sizeof(number));
  return number | 1;
}

DoorKey session_key(const DoorSecret& secret, const DoorNonce& connectors,
                    const DoorNonce& listeners);

/// The two open messages: request and challenge.
struct DoorHello {
  enum class Kind : std::uint8_t { kRequest = 1, kChallenge = 2 };
  static constexpr std::size_t kBytes = 24;

  std::array<std::byte, kBytes> pack() const;
  /// Empty: no engine of this fabric and version sends this.
  static std::optional<DoorNonce> parse(const std::byte* bytes, const DoorMagic& magic, Kind kind);

  DoorMagic magic{};
  Kind kind = Kind::kRequest;
  DoorNonce nonce{};
};

/// What the connector says of itself.
struct DoorAnswer {
  static constexpr std::size_t kBytes = 88;

  std::array<std::byte, kBytes> seal(const DoorKey& key) const;
  /// Empty: made without the secret, or damaged.
  static std::optional<DoorAnswer> open(const std::byte* bytes, const DoorKey& key);

  DoorAddress address;
};

struct DoorVerdict {
  enum class Kind : std::uint64_t {
    kAccepted = 1,
    kCrossing = 2  // another connection of the two stands, or is to stand, instead
  };
  static constexpr std::size_t kBytes = 24;

  std::array<std::byte, kBytes> seal(const DoorKey& key) const;
  /// Empty: made without the secret, or damaged.
  static std::optional<DoorVerdict> open(const std::byte* bytes, const DoorKey& key);

  Kind kind = Kind::kAccepted;
};

/// One message as it comes, byte by byte if need be; never a byte of what follows it.
class DoorReader {
 public:
  static constexpr std::size_t kMostBytes = 512;
  enum class Outcome { kWaiting, kComplete, kEnded };

  /// Begins a message of `size` bytes.
  void expect(std::size_t size);
  Outcome read(int socket);
  const std::byte* bytes() const { return bytes_.data(); }

 private:
  std::array<std::byte, kMostBytes> bytes_{};
  std::size_t size_ = 0;
  std::size_t filled_ = 0;
};

}  // namespace mad

#endif  // MADLIKE_DRIVER_DOOR_HANDSHAKE_H_
