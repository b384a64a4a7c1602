#include "madlike/driver/ofi/greeting.h"

#include <endian.h>
#include <netinet/in.h>

#include <cstring>

#include "madlike/driver/ip/address.h"

namespace mad {
namespace {

constexpr std::uint8_t kVersion = 2;

struct [[gnu::packed]] Wire {
  char magic[3];
  std::uint8_t version;
  std::uint8_t kind;
  std::uint64_t incarnation;
  std::uint32_t sequence;
  std::uint64_t tag;
  std::uint16_t credit;
  // Of a request: IPv4 in the first 4 bytes of `host`; port in network byte order.
  std::uint8_t ip_version;  // 4, 6, or 0: no address
  std::uint16_t port;
  std::uint8_t host[16];
  std::uint32_t scope;
};
static_assert(sizeof(Wire) == 50 && sizeof(Wire) <= Greeting::kMaxBytes);
constexpr char kMagic[sizeof(Wire::magic)] = {'M', 'O', 'F'};

void put_address(const std::vector<std::byte>& address, Wire* wire) {
  if (address.size() == sizeof(sockaddr_in)) {
    sockaddr_in four;
    std::memcpy(&four, address.data(), sizeof(four));
    wire->ip_version = 4;
    wire->port = four.sin_port;
    std::memcpy(wire->host, &four.sin_addr, sizeof(four.sin_addr));
  } else if (address.size() == sizeof(sockaddr_in6)) {
    sockaddr_in6 six;
    std::memcpy(&six, address.data(), sizeof(six));
    wire->ip_version = 6;
    wire->port = six.sin6_port;
    std::memcpy(wire->host, &six.sin6_addr, sizeof(six.sin6_addr));
    wire->scope = htole32(six.sin6_scope_id);
  }
}

Result<std::vector<std::byte>> take_address(const Wire& wire) {
  if (wire.ip_version == 4) {
    sockaddr_in four{};
    four.sin_family = AF_INET;
    four.sin_port = wire.port;
    std::memcpy(&four.sin_addr, wire.host, sizeof(four.sin_addr));
    return to_address(&four, sizeof(four));
  }
  sockaddr_in6 six{};
  six.sin6_family = wire.ip_version == 6 ? AF_INET6 : AF_UNSPEC;
  six.sin6_port = wire.port;
  std::memcpy(&six.sin6_addr, wire.host, sizeof(six.sin6_addr));
  six.sin6_scope_id = le32toh(wire.scope);
  return to_address(&six, sizeof(six));
}

}  // namespace

std::vector<std::byte> Greeting::pack() const {
  Wire wire{};
  std::memcpy(wire.magic, kMagic, sizeof(kMagic));
  wire.version = kVersion;
  wire.kind = static_cast<std::uint8_t>(kind);
  wire.incarnation = htole64(incarnation);
  wire.sequence = htole32(sequence);
  wire.tag = htole64(tag);
  wire.credit = htole16(credit);
  put_address(address, &wire);
  std::vector<std::byte> bytes(sizeof(wire));
  std::memcpy(bytes.data(), &wire, sizeof(wire));
  return bytes;
}

std::optional<Greeting> Greeting::parse(const void* bytes, std::size_t size) {
  Wire wire;
  if (size < sizeof(wire)) return std::nullopt;
  std::memcpy(&wire, bytes, sizeof(wire));
  if (std::memcmp(wire.magic, kMagic, sizeof(kMagic)) != 0 || wire.version != kVersion ||
      wire.kind < 1 || wire.kind > 4) {
    return std::nullopt;
  }
  Greeting greeting;
  greeting.kind = static_cast<Kind>(wire.kind);
  greeting.incarnation = le64toh(wire.incarnation);
  greeting.sequence = le32toh(wire.sequence);
  greeting.tag = le64toh(wire.tag);
  greeting.credit = le16toh(wire.credit);
  if (greeting.kind != Kind::kRequest) return greeting;
  Result<std::vector<std::byte>> address = take_address(wire);
  if (!address.ok()) return std::nullopt;
  greeting.address = std::move(*address);
  return greeting;
}

}  // namespace mad
