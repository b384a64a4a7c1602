#include "madlike/driver/shm/greeting.h"

#include <endian.h>
#include <sodium.h>

#include <cstring>
#include <limits>

#include "madlike/driver/door/handshake.h"

namespace mad {
namespace {

// Lanes have numbers in their host's byte order: an engine of the other one, as an emulator may run
// on the same host, is no shm engine to us.
constexpr bool kLittle = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__;
constexpr unsigned char kAddressPrefix[4] = {'m', 's', kLittle ? 'h' : 'H', 1};
constexpr unsigned char kLetterPrefix[8] = {'M', 'A', 'D', 'S', 'H', 'M', 2, 1};

struct Plain {
  std::byte sender[ShmAddress::kBytes];
  std::uint64_t session;
  std::uint32_t kind, place, place_bytes, piece_bytes, reason, unused;
};
static_assert(sizeof(Plain) == 56);
constexpr std::size_t kNonceAt = sizeof(kLetterPrefix);
constexpr std::size_t kSealedAt = kNonceAt + sizeof(DoorNonce);
static_assert(kSealedAt + sizeof(Plain) + crypto_secretbox_MACBYTES == ShmGreeting::kBytes);

constexpr std::uint32_t kMostPid = std::numeric_limits<pid_t>::max();

// Each letter has a nonce of its own and so a key of its own.
constexpr unsigned char kOnce[crypto_secretbox_NONCEBYTES] = {};

Status wrong_address() { return {StatusCode::kInvalidArgument, "not the address of a shm engine"}; }

unsigned char* raw(std::byte* bytes) { return reinterpret_cast<unsigned char*>(bytes); }
const unsigned char* raw(const std::byte* bytes) {
  return reinterpret_cast<const unsigned char*>(bytes);
}

}  // namespace

Result<ShmAddress> ShmAddress::parse(const std::byte* bytes, std::size_t size) {
  if (size != kBytes || std::memcmp(bytes, kAddressPrefix, sizeof(kAddressPrefix)) != 0) {
    return wrong_address();
  }
  ShmAddress address;
  std::memcpy(&address.pid, bytes + 4, sizeof(address.pid));
  address.pid = le32toh(address.pid);
  if (address.pid == 0 || address.pid > kMostPid) return wrong_address();
  std::memcpy(address.secret.data(), bytes + 8, address.secret.size());
  return address;
}

std::vector<std::byte> ShmAddress::bytes() const {
  std::vector<std::byte> all(kBytes);
  const std::uint32_t number = htole32(pid);
  std::memcpy(all.data(), kAddressPrefix, sizeof(kAddressPrefix));
  std::memcpy(all.data() + 4, &number, sizeof(number));
  std::memcpy(all.data() + 8, secret.data(), secret.size());
  return all;
}

std::array<std::byte, ShmGreeting::kBytes> ShmGreeting::seal(const DoorSecret& receiver) const {
  Plain plain{};
  const auto address = sender.bytes();
  std::memcpy(plain.sender, address.data(), address.size());
  plain.session = htole64(session);
  plain.kind = htole32(static_cast<std::uint32_t>(kind));
  plain.place = htole32(place);
  plain.place_bytes = htole32(place_bytes);
  plain.piece_bytes = htole32(piece_bytes);
  plain.reason = htole32(static_cast<std::uint32_t>(reason));
  std::array<std::byte, kBytes> letter{};
  const DoorNonce nonce = random_nonce();
  std::memcpy(letter.data(), kLetterPrefix, sizeof(kLetterPrefix));
  std::memcpy(letter.data() + kNonceAt, nonce.data(), nonce.size());
  const DoorKey key = session_key(receiver, nonce, {});
  crypto_secretbox_easy(raw(letter.data() + kSealedAt), reinterpret_cast<unsigned char*>(&plain),
                        sizeof(plain), kOnce, raw(key.data()));
  return letter;
}

std::optional<ShmGreeting> ShmGreeting::open(const std::byte* bytes, std::size_t size,
                                             const DoorSecret& receiver) {
  if (size != kBytes || std::memcmp(bytes, kLetterPrefix, sizeof(kLetterPrefix)) != 0) return {};
  DoorNonce nonce;
  std::memcpy(nonce.data(), bytes + kNonceAt, nonce.size());
  const DoorKey key = session_key(receiver, nonce, {});
  Plain plain;
  if (crypto_secretbox_open_easy(reinterpret_cast<unsigned char*>(&plain), raw(bytes + kSealedAt),
                                 sizeof(plain) + crypto_secretbox_MACBYTES, kOnce,
                                 raw(key.data())) != 0) {
    return {};
  }
  const Result<ShmAddress> sender = ShmAddress::parse(plain.sender, sizeof(plain.sender));
  if (!sender.ok()) return {};
  ShmGreeting greeting;
  greeting.sender = *sender;
  greeting.session = le64toh(plain.session);
  greeting.kind = static_cast<Kind>(le32toh(plain.kind));
  greeting.place = le32toh(plain.place);
  greeting.place_bytes = le32toh(plain.place_bytes);
  greeting.piece_bytes = le32toh(plain.piece_bytes);
  greeting.reason = static_cast<Reason>(le32toh(plain.reason));
  const bool known = greeting.kind == Kind::kMeet || greeting.kind == Kind::kRefuse;
  if (!known || greeting.session == 0) return {};
  return greeting;
}

Status ShmGreeting::refusal() const {
  switch (reason) {
    case Reason::kOtherUser:
      return {StatusCode::kUnreachable, "shm: the peer is another user's process"};
    case Reason::kOtherPids:
      return {StatusCode::kUnreachable,
              "shm: the peer has process ids of its own, as in a "
              "container, so that neither would notice the other's end"};
    case Reason::kOtherLayout:
      return {StatusCode::kVersion, "shm: the peer's memory has another layout"};
    case Reason::kBadMemory:
      return {StatusCode::kUnreachable, "shm: the peer cannot use this process's memory"};
    case Reason::kLacksMemory:
    case Reason::kNone:
      break;
  }
  return {StatusCode::kAgain, "shm: the peer has no memory, file or place for a connection now"};
}

}  // namespace mad
