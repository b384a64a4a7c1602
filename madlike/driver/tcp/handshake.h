// The handshake of two tcp engines: whoever connects proves that it knows the secret in the
// listener's address, the listener proves that it knows it too, and the secret does not travel.
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
#ifndef MADLIKE_DRIVER_TCP_HANDSHAKE_H_
#define MADLIKE_DRIVER_TCP_HANDSHAKE_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "madlike/base/status.h"

namespace mad {

using TcpSecret = std::array<std::byte, 16>;
using TcpNonce = std::array<std::byte, 16>;
using TcpSessionKey = std::array<std::byte, 32>;

/// Where an engine listens, and the secret of those who may connect to it.
struct TcpAddress {
  static constexpr std::size_t kMostBytes = 64;
  /// kInvalidArgument: not the bytes() of such an address.
  static Result<TcpAddress> parse(const std::byte* bytes, std::size_t size);
  std::vector<std::byte> bytes() const;

  std::vector<std::byte> socket;  // see madlike/driver/ip/address.h
  TcpSecret secret{};
};

/// Random values that nobody can guess.
TcpSecret random_secret();
TcpNonce random_nonce();

TcpSessionKey session_key(const TcpSecret& secret, const TcpNonce& connectors,
                          const TcpNonce& listeners);

/// The two open messages: request and challenge.
struct TcpHello {
  enum class Kind : std::uint8_t { kRequest = 1, kChallenge = 2 };
  static constexpr std::size_t kBytes = 24;

  std::array<std::byte, kBytes> pack() const;
  /// Empty: no engine of this version sends this.
  static std::optional<TcpNonce> parse(const std::byte* bytes, Kind kind);

  Kind kind = Kind::kRequest;
  TcpNonce nonce{};
};

/// What the connector says of itself.
struct TcpAnswer {
  static constexpr std::size_t kBytes = 88;

  std::array<std::byte, kBytes> seal(const TcpSessionKey& key) const;
  /// Empty: made without the secret, or damaged.
  static std::optional<TcpAnswer> open(const std::byte* bytes, const TcpSessionKey& key);

  TcpAddress address;
};

struct TcpVerdict {
  enum class Kind : std::uint64_t {
    kAccepted = 1,
    kCrossing = 2  // another connection of the two stands, or is to stand, instead
  };
  static constexpr std::size_t kBytes = 24;

  std::array<std::byte, kBytes> seal(const TcpSessionKey& key) const;
  /// Empty: made without the secret, or damaged.
  static std::optional<TcpVerdict> open(const std::byte* bytes, const TcpSessionKey& key);

  Kind kind = Kind::kAccepted;
};

/// One handshake message as it comes, byte by byte if need be; never a byte of what follows it.
class TcpMessageReader {
 public:
  static constexpr std::size_t kMostBytes = TcpAnswer::kBytes;
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

#endif  // MADLIKE_DRIVER_TCP_HANDSHAKE_H_
