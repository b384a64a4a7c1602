#include "netmod/abi/address.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <fstream>

namespace mad {
namespace {

constexpr std::size_t kHeadBytes = 4;
constexpr std::byte kMagic{'m'};

static_assert(kHeadBytes + EngineAddress::kNodeBytes + 1 + EngineAddress::kFabricMax +
                      EngineAddress::kDriverAddressMax <=
                  110,
              "a card must fit MAD_ADDRESS_MAX");

std::uint64_t fnv1a(const std::string& text) {
  std::uint64_t hash = 0xcbf29ce484222325u;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return hash;
}

void append_u64(std::vector<std::byte>& out, std::uint64_t value) {
  for (int shift = 0; shift < 64; shift += 8) out.push_back(std::byte(value >> shift & 0xff));
}

Status not_an_address(const std::string& why) {
  return Status(StatusCode::kInvalidArgument, "not an engine's address: " + why);
}

}  // namespace

std::vector<std::byte> EngineAddress::encode() const {
  const std::size_t process_bytes = 1 + fabric.size() + driver_address.size();
  std::vector<std::byte> out = {kMagic, std::byte{kVersion}, std::byte(node.size()),
                                std::byte(process_bytes)};
  out.insert(out.end(), node.begin(), node.end());
  out.push_back(std::byte(fabric.size()));
  for (const char c : fabric) out.push_back(std::byte(c));
  out.insert(out.end(), driver_address.begin(), driver_address.end());
  return out;
}

Result<EngineAddress> EngineAddress::decode(const void* bytes, std::size_t size) {
  const auto* in = static_cast<const std::byte*>(bytes);
  if (size < kHeadBytes || in[0] != kMagic) {
    return not_an_address("it must be the bytes that mad_engine_address() gave");
  }
  if (in[1] != std::byte{kVersion}) {
    return Status(StatusCode::kVersion,
                  "the address has version " + std::to_string(std::to_integer<unsigned>(in[1])) +
                      ", this libmad speaks version " + std::to_string(kVersion) +
                      "; both sides need the same libmad");
  }
  const std::size_t node_bytes = std::to_integer<std::size_t>(in[2]);
  const std::size_t process_bytes = std::to_integer<std::size_t>(in[3]);
  if (kHeadBytes + node_bytes + process_bytes != size) {
    return not_an_address("it says " + std::to_string(kHeadBytes + node_bytes + process_bytes) +
                          " bytes and has " + std::to_string(size));
  }
  const std::byte* process = in + kHeadBytes + node_bytes;
  const std::size_t name_bytes = process_bytes > 0 ? std::to_integer<std::size_t>(process[0]) : 0;
  if (process_bytes < 1 + name_bytes || name_bytes > kFabricMax ||
      process_bytes - 1 - name_bytes > kDriverAddressMax ||
      (node_bytes != 0 && node_bytes != kNodeBytes)) {
    return not_an_address("its parts have impossible lengths");
  }
  EngineAddress address;
  address.node.assign(in + kHeadBytes, process);
  address.fabric.assign(reinterpret_cast<const char*>(process + 1), name_bytes);
  address.driver_address.assign(process + 1 + name_bytes, process + process_bytes);
  return address;
}

std::string EngineAddress::process_key() const {
  std::string key = fabric;
  key.push_back('\0');
  key.append(reinterpret_cast<const char*>(driver_address.data()), driver_address.size());
  return key;
}

std::vector<std::byte> this_node() {
  std::string boot;
  std::getline(std::ifstream("/proc/sys/kernel/random/boot_id"), boot);
  if (boot.empty()) {
    char name[256] = {};
    if (gethostname(name, sizeof(name) - 1) == 0) boot = name;
  }
  struct stat net {};
  const bool have_net = stat("/proc/self/ns/net", &net) == 0;
  std::vector<std::byte> out;
  append_u64(out, fnv1a(boot));
  append_u64(out, have_net ? static_cast<std::uint64_t>(net.st_ino) : 0);
  return out;
}

}  // namespace mad
