#include "madlike/driver/door/handshake.h"

#include <endian.h>
#include <errno.h>
#include <netinet/in.h>
#include <sodium.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <utility>

#include "madlike/driver/ip/address.h"

namespace mad {
namespace {

constexpr std::uint8_t kVersion = 2;
constexpr std::size_t kHelloPrefix = 8;

// Every session has a key of its own, so that a number a direction is a nonce used once.
enum class Direction : unsigned char { kToListener = 1, kToConnector = 2 };

unsigned char* raw(std::byte* bytes) { return reinterpret_cast<unsigned char*>(bytes); }
const unsigned char* raw(const std::byte* bytes) {
  return reinterpret_cast<const unsigned char*>(bytes);
}

using SealNonce = std::array<unsigned char, crypto_secretbox_NONCEBYTES>;

SealNonce nonce_of(Direction direction) { return {static_cast<unsigned char>(direction)}; }

template <typename Plain>
constexpr std::size_t kSealedBytes = sizeof(Plain) + crypto_secretbox_MACBYTES;

template <typename Plain>
std::array<std::byte, kSealedBytes<Plain>> seal_plain(const Plain& plain, const DoorKey& key,
                                                      Direction direction) {
  std::array<std::byte, kSealedBytes<Plain>> sealed;
  crypto_secretbox_easy(raw(sealed.data()), reinterpret_cast<const unsigned char*>(&plain),
                        sizeof(plain), nonce_of(direction).data(), raw(key.data()));
  return sealed;
}

template <typename Plain>
bool open_sealed(const std::byte* sealed, const DoorKey& key, Direction direction, Plain* plain) {
  return crypto_secretbox_open_easy(reinterpret_cast<unsigned char*>(plain), raw(sealed),
                                    kSealedBytes<Plain>, nonce_of(direction).data(),
                                    raw(key.data())) == 0;
}

// A socket address travels as the system has it, but its numbers of several bytes that are not in
// the network's order, family and scope, are little-endian.  Turns one into the other, either way.
void turn(std::byte* socket, std::size_t size) {
  if (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__) return;
  constexpr std::size_t kScopeAt = offsetof(sockaddr_in6, sin6_scope_id);
  if (size >= sizeof(sa_family_t)) std::reverse(socket, socket + sizeof(sa_family_t));
  if (size != sizeof(sockaddr_in6)) return;
  std::reverse(socket + kScopeAt, socket + kScopeAt + sizeof(sockaddr_in6::sin6_scope_id));
}

struct PlainAnswer {
  std::uint64_t address_bytes;
  std::byte address[DoorAddress::kMostBytes];
};
static_assert(kSealedBytes<PlainAnswer> == DoorAnswer::kBytes);

struct PlainVerdict {
  std::uint64_t kind;
};
static_assert(kSealedBytes<PlainVerdict> == DoorVerdict::kBytes);

template <typename Value>
Value random_value() {
  Value value;
  randombytes_buf(&value, sizeof(value));
  return value;
}

}  // namespace

Result<DoorAddress> DoorAddress::parse(const std::byte* bytes, std::size_t size) {
  DoorAddress address;
  if (size <= address.secret.size()) {
    return Status(StatusCode::kInvalidArgument, "not the address of an engine");
  }
  const std::size_t socket_bytes = size - address.secret.size();
  std::vector<std::byte> turned(bytes, bytes + socket_bytes);
  turn(turned.data(), socket_bytes);
  Result<std::vector<std::byte>> socket = to_address(turned.data(), socket_bytes);
  if (!socket.ok()) return socket.status();
  address.socket = std::move(*socket);
  std::memcpy(address.secret.data(), bytes + socket_bytes, address.secret.size());
  return address;
}

std::vector<std::byte> DoorAddress::bytes() const {
  std::vector<std::byte> all(socket);
  turn(all.data(), all.size());
  all.insert(all.end(), secret.begin(), secret.end());
  return all;
}

DoorSecret random_secret() { return random_value<DoorSecret>(); }
DoorNonce random_nonce() { return random_value<DoorNonce>(); }

DoorKey session_key(const DoorSecret& secret, const DoorNonce& connectors,
                    const DoorNonce& listeners) {
  static_assert(sizeof(DoorSecret) >= crypto_generichash_KEYBYTES_MIN);
  static_assert(sizeof(DoorKey) == crypto_secretbox_KEYBYTES);
  std::array<std::byte, 2 * sizeof(DoorNonce)> both;
  std::memcpy(both.data(), connectors.data(), connectors.size());
  std::memcpy(both.data() + connectors.size(), listeners.data(), listeners.size());
  DoorKey key;
  crypto_generichash(raw(key.data()), key.size(), raw(both.data()), both.size(), raw(secret.data()),
                     secret.size());
  return key;
}

std::array<std::byte, DoorHello::kBytes> DoorHello::pack() const {
  static_assert(kBytes == kHelloPrefix + sizeof(DoorNonce));
  std::array<std::byte, kBytes> bytes{};
  std::memcpy(bytes.data(), magic.data(), magic.size());
  bytes[6] = std::byte{kVersion};
  bytes[7] = static_cast<std::byte>(kind);
  std::memcpy(bytes.data() + kHelloPrefix, nonce.data(), nonce.size());
  return bytes;
}

std::optional<DoorNonce> DoorHello::parse(const std::byte* bytes, const DoorMagic& magic,
                                          Kind kind) {
  DoorHello hello{magic, kind, {}};
  std::memcpy(hello.nonce.data(), bytes + kHelloPrefix, hello.nonce.size());
  const auto expected = hello.pack();
  if (std::memcmp(bytes, expected.data(), kHelloPrefix) != 0) return std::nullopt;
  return hello.nonce;
}

std::array<std::byte, DoorAnswer::kBytes> DoorAnswer::seal(const DoorKey& key) const {
  const std::vector<std::byte> own = address.bytes();
  PlainAnswer plain{htole64(own.size()), {}};
  std::memcpy(plain.address, own.data(), std::min(own.size(), sizeof(plain.address)));
  return seal_plain(plain, key, Direction::kToListener);
}

std::optional<DoorAnswer> DoorAnswer::open(const std::byte* bytes, const DoorKey& key) {
  PlainAnswer plain;
  if (!open_sealed(bytes, key, Direction::kToListener, &plain)) return std::nullopt;
  const std::uint64_t size = le64toh(plain.address_bytes);
  if (size > sizeof(plain.address)) return std::nullopt;
  Result<DoorAddress> address = DoorAddress::parse(plain.address, size);
  if (!address.ok()) return std::nullopt;
  return DoorAnswer{std::move(*address)};
}

std::array<std::byte, DoorVerdict::kBytes> DoorVerdict::seal(const DoorKey& key) const {
  const PlainVerdict plain{htole64(static_cast<std::uint64_t>(kind))};
  return seal_plain(plain, key, Direction::kToConnector);
}

std::optional<DoorVerdict> DoorVerdict::open(const std::byte* bytes, const DoorKey& key) {
  PlainVerdict plain;
  if (!open_sealed(bytes, key, Direction::kToConnector, &plain)) return std::nullopt;
  const auto kind = static_cast<Kind>(le64toh(plain.kind));
  if (kind != Kind::kAccepted && kind != Kind::kCrossing) return std::nullopt;
  return DoorVerdict{kind};
}

void DoorReader::expect(std::size_t size) {
  size_ = size;
  filled_ = 0;
}

DoorReader::Outcome DoorReader::read(int socket) {
  while (filled_ < size_) {
    const ssize_t got = recv(socket, bytes_.data() + filled_, size_ - filled_, MSG_DONTWAIT);
    if (got > 0) {
      filled_ += static_cast<std::size_t>(got);
    } else if (got < 0 && errno == EINTR) {
      continue;
    } else if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
      return Outcome::kWaiting;
    } else {
      return Outcome::kEnded;
    }
  }
  return Outcome::kComplete;
}

}  // namespace mad
