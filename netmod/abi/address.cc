#include "netmod/abi/address.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <utility>

namespace mad {
namespace {

using Bytes = std::vector<std::byte>;

constexpr std::size_t kHeadBytes = 4;
constexpr std::byte kMagic{'m'};
constexpr unsigned kNameMask = 0x1f;
constexpr unsigned kEarlierShift = 5;
constexpr unsigned kEarlierMask = 0x3;
constexpr unsigned kOfEnd = 0x80;
static_assert(EngineAddress::kFabricMax <= kNameMask &&
                  EngineAddress::kMostFabrics <= kEarlierMask + 1,
              "all are in one byte");

std::uint64_t fnv1a(const std::string& text) {
  std::uint64_t hash = 0xcbf29ce484222325u;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return hash;
}

Status not_an_address(const std::string& why) {
  return Status(StatusCode::kInvalidArgument, "not an engine's address: " + why);
}

/// What an address has of an earlier one.
struct Common {
  std::size_t earlier = 0;  // its number
  std::size_t first = 0;    // bytes, at the beginning of both
  std::size_t last = 0;     // bytes, at the address's end; in the earlier one at the same places
  bool of_end = false;      // or at its end, too
};

/// Where an earlier address ends, as seen from the end of one of `size` bytes.
std::size_t end_in(const Bytes& earlier, std::size_t size, bool of_end) {
  return of_end ? earlier.size() : size;
}

Common common(const Bytes& address, const Bytes& earlier, bool of_end) {
  const std::size_t size = std::min(address.size(), earlier.size());
  const std::size_t end = end_in(earlier, address.size(), of_end);
  Common out;
  out.of_end = of_end;
  while (out.first < size && address[out.first] == earlier[out.first]) ++out.first;
  while (end <= earlier.size() && out.last < size - out.first &&
         address[address.size() - 1 - out.last] == earlier[end - 1 - out.last]) {
    ++out.last;
  }
  return out;
}

Common most_common(const std::vector<FabricAddress>& fabrics, std::size_t number) {
  Common best;
  for (std::size_t i = 0; i < number; ++i) {
    for (const bool of_end : {false, true}) {
      Common with = common(fabrics[number].address, fabrics[i].address, of_end);
      with.earlier = i;
      if (with.first + with.last > best.first + best.last) best = with;
    }
  }
  return best;
}

/// Takes bytes from the front of what is left.
class Reader {
 public:
  Reader(const std::byte* bytes, std::size_t size) : next_(bytes), left_(size) {}
  bool has(std::size_t size) const { return left_ >= size; }
  bool empty() const { return left_ == 0; }
  unsigned number() { return std::to_integer<unsigned>(*take(1)); }
  const std::byte* take(std::size_t size) {
    left_ -= size;
    return std::exchange(next_, next_ + size);
  }

 private:
  const std::byte* next_;
  std::size_t left_;
};

bool read_fabric(Reader& in, std::vector<FabricAddress>* fabrics) {
  if (!in.has(1)) return false;
  const unsigned word = in.number();
  const std::size_t name_bytes = word & kNameMask;
  if (name_bytes > EngineAddress::kFabricMax || !in.has(name_bytes + 3)) return false;
  FabricAddress out;
  out.fabric.assign(reinterpret_cast<const char*>(in.take(name_bytes)), name_bytes);
  const std::size_t size = in.number();
  Common with;
  with.earlier = word >> kEarlierShift & kEarlierMask;
  with.first = in.number();
  with.last = in.number();
  const std::size_t shared = with.first + with.last;
  if (size > EngineAddress::kDriverAddressMax || shared > size || !in.has(size - shared)) {
    return false;
  }
  const Bytes none;
  const Bytes& earlier = with.earlier < fabrics->size() ? (*fabrics)[with.earlier].address : none;
  const std::size_t end = end_in(earlier, size, (word & kOfEnd) != 0);
  if (with.first > earlier.size() || (with.last > 0 && (end > earlier.size() || with.last > end))) {
    return false;
  }
  const std::byte* const own = in.take(size - shared);
  out.address.assign(earlier.begin(), earlier.begin() + static_cast<std::ptrdiff_t>(with.first));
  out.address.insert(out.address.end(), own, own + (size - shared));
  for (std::size_t i = end - with.last; i < end; ++i) out.address.push_back(earlier[i]);
  fabrics->push_back(std::move(out));
  return true;
}

}  // namespace

std::string FabricAddress::key() const {
  std::string key = fabric;
  key.push_back('\0');
  key.append(reinterpret_cast<const char*>(address.data()), address.size());
  return key;
}

std::vector<std::byte> EngineAddress::encode() const {
  Bytes out = {kMagic, std::byte{kVersion}, std::byte(node.size()), std::byte(fabrics.size())};
  out.insert(out.end(), node.begin(), node.end());
  for (std::size_t i = 0; i < fabrics.size(); ++i) {
    const auto& [name, address] = fabrics[i];
    const Common with = most_common(fabrics, i);
    out.push_back(
        std::byte(name.size() | with.earlier << kEarlierShift | (with.of_end ? kOfEnd : 0)));
    for (const char c : name) out.push_back(std::byte(c));
    for (const std::size_t number : {address.size(), with.first, with.last}) {
      out.push_back(std::byte(number));
    }
    out.insert(out.end(), address.begin() + static_cast<std::ptrdiff_t>(with.first),
               address.end() - static_cast<std::ptrdiff_t>(with.last));
  }
  return out;
}

Result<EngineAddress> EngineAddress::decode(const void* bytes, std::size_t size) {
  const auto* const in = static_cast<const std::byte*>(bytes);
  if (size < kHeadBytes || in[0] != kMagic) {
    return not_an_address("it must be the bytes that mad_engine_address() gave");
  }
  if (in[1] != std::byte{kVersion}) {
    return Status(StatusCode::kVersion,
                  "the address has version " + std::to_string(std::to_integer<unsigned>(in[1])) +
                      ", this libmad speaks version " + std::to_string(kVersion) +
                      "; both sides need the same libmad");
  }
  const auto node_bytes = std::to_integer<std::size_t>(in[2]);
  const auto fabrics = std::to_integer<std::size_t>(in[3]);
  Reader rest(in + kHeadBytes, size - kHeadBytes);
  if ((node_bytes != 0 && node_bytes != kNodeBytes) || !rest.has(node_bytes) || fabrics == 0 ||
      fabrics > kMostFabrics) {
    return not_an_address("its parts have impossible lengths");
  }
  EngineAddress address;
  const std::byte* const node = rest.take(node_bytes);
  address.node.assign(node, node + node_bytes);
  for (std::size_t i = 0; i < fabrics; ++i) {
    if (!read_fabric(rest, &address.fabrics)) {
      return not_an_address("that of its fabric " + std::to_string(i + 1) + " is not one");
    }
  }
  if (!rest.empty()) return not_an_address("it is longer than it says");
  return address;
}

bool EngineAddress::has_one_of(const EngineAddress& other) const {
  const auto is_others = [&](const FabricAddress& own) {
    const auto same = [&](const FabricAddress& each) { return each.key() == own.key(); };
    return std::any_of(other.fabrics.begin(), other.fabrics.end(), same);
  };
  return std::any_of(fabrics.begin(), fabrics.end(), is_others);
}

std::string EngineAddress::fabric_names() const {
  std::string names;
  for (const FabricAddress& each : fabrics) {
    if (!names.empty()) names += ';';
    names += each.fabric;
  }
  return names;
}

std::vector<std::byte> this_node() {
  std::string identity;
  std::getline(std::ifstream("/proc/sys/kernel/random/boot_id"), identity);
  if (identity.empty()) {
    char name[256] = {};
    if (gethostname(name, sizeof(name) - 1) == 0) identity = name;
  }
  struct stat net {};
  if (stat("/proc/self/ns/net", &net) == 0) identity += ' ' + std::to_string(net.st_ino);
  const std::uint64_t hash = fnv1a(identity);
  Bytes out;
  for (std::size_t i = 0; i < EngineAddress::kNodeBytes; ++i) {
    out.push_back(std::byte(hash >> (8 * i) & 0xff));
  }
  return out;
}

}  // namespace mad
