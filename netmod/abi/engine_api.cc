// The C functions of engines and peers: they check what the caller gave, then call mad_engine.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>

#include "madlike/base/say.h"
#include "netmod/abi/after_fork.h"
#include "netmod/abi/engine.h"
#include "netmod/abi/errors.h"
#include "netmod/abi/fabric.h"

namespace {

using mad::fail;
using mad::guarded;

constexpr std::uint64_t kConnectTimeoutSeconds = 600;

int null_argument(const char* function, const char* what) {
  return fail(MAD_ERR_ARGUMENT, std::string(function) + ": " + what + " is NULL");
}

int being_closed(const char* function) {
  return fail(MAD_ERR_CLOSED, std::string(function) + ": the engine is being closed");
}

std::string describe(const mad::DriverCaps& caps) {
  std::string out = "fabric " + caps.name;
  for (const mad::LinkCaps& link : caps.links) {
    out += ", " + (link.kind == 0 ? std::string() : link.prices + " ") +
           std::to_string(link.max_iov) + " segments and " + std::to_string(link.max_packet_bytes) +
           " bytes a packet";
  }
  return out + (caps.remote_write ? ", with" : ", without") + " remote writes";
}

void tell_of(const mad_engine& engine) {
  for (std::size_t i = 0; i < engine.fabrics(); ++i) {
    std::fprintf(stderr, "libmad: %s\n", describe(engine.caps(i)).c_str());
  }
}

int give_address(const char* function, const mad::EngineAddress& address, void* out,
                 std::size_t* size) {
  if (out == nullptr) return null_argument(function, "address");
  if (size == nullptr) return null_argument(function, "size");
  const std::vector<std::byte> bytes = address.encode();
  if (*size < bytes.size()) {
    return fail(MAD_ERR_ARGUMENT, std::string(function) + ": the address has " +
                                      std::to_string(bytes.size()) + " bytes, the room " +
                                      std::to_string(*size) + "; MAD_ADDRESS_MAX always suffices");
  }
  std::memcpy(out, bytes.data(), bytes.size());
  *size = bytes.size();
  return MAD_SUCCESS;
}

}  // namespace

extern "C" void mad_config_fill(mad_config* config, size_t bytes, uint32_t abi_version) {
  static_assert(offsetof(mad_config, abi_version) == 0);  // in every version
  if (config == nullptr || bytes < sizeof(abi_version)) return;
  std::memset(static_cast<void*>(config), 0, bytes);
  std::memcpy(static_cast<void*>(config), &abi_version, sizeof(abi_version));
  if (abi_version != MAD_ABI_VERSION || bytes != sizeof(mad_config)) return;
  config->connect_timeout = kConnectTimeoutSeconds;
  config->silence_ms = static_cast<std::uint32_t>(mad::Silence::kTimeout.count());
  config->goodbye_ms = static_cast<std::uint32_t>(mad::FabricOptions().linger.count());
}

extern "C" const char* mad_fabric_names(void) { return mad::fabric_names(); }

extern "C" int mad_engine_open(const mad_config* config, mad_engine** out) {
  return guarded([&]() -> int {
    if (config == nullptr) return null_argument("mad_engine_open", "config");
    if (out == nullptr) return null_argument("mad_engine_open", "out");
    if (config->abi_version != MAD_ABI_VERSION) {
      return fail(MAD_ERR_VERSION, "mad_engine_open: the caller was built for ABI version " +
                                       std::to_string(config->abi_version) +
                                       ", this libmad has version " +
                                       std::to_string(MAD_ABI_VERSION) +
                                       "; call mad_config_init() and build both from one release");
    }
    auto engine = mad_engine::open(*config);
    if (!engine.ok()) return mad::to_abi(engine.status());
    *out = engine.value().release();
    if (mad::is_verbose()) tell_of(**out);
    return MAD_SUCCESS;
  });
}

extern "C" void mad_engine_close(mad_engine* engine) {
  (void)guarded([&]() -> int {
    if (engine != nullptr && (engine->in_callback() || engine->closing())) {
      return fail(MAD_ERR_ARGUMENT, "mad_engine_close: called inside a callback of the engine");
    }
    delete engine;
    return MAD_SUCCESS;
  });
}

extern "C" void mad_engine_after_fork(mad_engine* engine) {
  if (engine == nullptr) return;
  for (const int set : engine->epoll_sets()) mad::close_inherited(set);
}

extern "C" const char* mad_engine_fabric(const mad_engine* engine) {
  return engine == nullptr ? "" : engine->fabric_names().c_str();
}

extern "C" int mad_engine_address(const mad_engine* engine, void* address, size_t* size) {
  return guarded([&]() -> int {
    if (engine == nullptr) return null_argument("mad_engine_address", "engine");
    return give_address("mad_engine_address", engine->address(), address, size);
  });
}

extern "C" int mad_address_fabrics(const void* address, size_t size, char* names, size_t room) {
  return guarded([&]() -> int {
    if (address == nullptr) return null_argument("mad_address_fabrics", "address");
    if (names == nullptr) return null_argument("mad_address_fabrics", "names");
    const auto decoded = mad::EngineAddress::decode(address, size);
    if (!decoded.ok()) return mad::to_abi(decoded.status());
    const std::string list = decoded.value().fabric_names();
    if (room <= list.size()) {
      return fail(MAD_ERR_ARGUMENT, "mad_address_fabrics: the names need " +
                                        std::to_string(list.size() + 1) + " bytes, the room has " +
                                        std::to_string(room) + "; MAD_FABRICS_BYTES suffice");
    }
    std::memcpy(names, list.c_str(), list.size() + 1);
    return MAD_SUCCESS;
  });
}

extern "C" int mad_engine_peer(mad_engine* engine, const void* address, size_t size,
                               mad_peer** out) {
  return guarded([&]() -> int {
    if (engine == nullptr) return null_argument("mad_engine_peer", "engine");
    if (address == nullptr) return null_argument("mad_engine_peer", "address");
    if (out == nullptr) return null_argument("mad_engine_peer", "out");
    if (engine->closing()) return being_closed("mad_engine_peer");
    const auto decoded = mad::EngineAddress::decode(address, size);
    if (!decoded.ok()) return mad::to_abi(decoded.status());
    const auto peer = engine->peer(decoded.value());
    if (!peer.ok()) return mad::to_abi(peer.status());
    *out = peer.value();
    return MAD_SUCCESS;
  });
}

extern "C" void mad_peer_set_context(mad_peer* peer, void* context) {
  if (peer != nullptr) peer->context = context;
}

extern "C" void* mad_peer_context(const mad_peer* peer) {
  return peer == nullptr ? nullptr : peer->context;
}

extern "C" int mad_peer_address(const mad_peer* peer, void* address, size_t* size) {
  return guarded([&]() -> int {
    if (peer == nullptr) return null_argument("mad_peer_address", "peer");
    return give_address("mad_peer_address", peer->address, address, size);
  });
}

extern "C" int mad_peer_is_at(const mad_peer* peer, const void* address, size_t size) {
  return guarded([&]() -> int {
    if (peer == nullptr) return null_argument("mad_peer_is_at", "peer");
    if (address == nullptr) return null_argument("mad_peer_is_at", "address");
    const auto decoded = mad::EngineAddress::decode(address, size);
    if (!decoded.ok()) return mad::to_abi(decoded.status());
    return decoded->has_one_of(peer->address) ? 1 : 0;
  });
}

extern "C" int mad_peer_touch(mad_engine* engine, mad_peer* peer) {
  return guarded([&]() -> int {
    if (engine == nullptr) return null_argument("mad_peer_touch", "engine");
    if (peer == nullptr) return null_argument("mad_peer_touch", "peer");
    if (peer->engine != engine) {
      return fail(MAD_ERR_ARGUMENT, "mad_peer_touch: the peer belongs to another engine");
    }
    if (engine->closing()) return being_closed("mad_peer_touch");
    if (peer->status != MAD_SUCCESS) return fail(peer->status, "mad_peer_touch: the peer is gone");
    return mad::to_abi(engine->touch(*peer));
  });
}

extern "C" int mad_peer_reject(mad_engine* engine, mad_peer* peer, const char* why) {
  return guarded([&]() -> int {
    if (engine == nullptr) return null_argument("mad_peer_reject", "engine");
    if (peer == nullptr) return null_argument("mad_peer_reject", "peer");
    if (why == nullptr) return null_argument("mad_peer_reject", "why");
    if (peer->engine != engine) {
      return fail(MAD_ERR_ARGUMENT, "mad_peer_reject: the peer belongs to another engine");
    }
    if (engine->closing()) return being_closed("mad_peer_reject");
    if (peer->status == MAD_SUCCESS) engine->reject(*peer, why);
    return MAD_SUCCESS;
  });
}

extern "C" int mad_peer_status(const mad_peer* peer) {
  return peer == nullptr ? static_cast<int>(MAD_ERR_ARGUMENT) : static_cast<int>(peer->status);
}

extern "C" int mad_peer_release(mad_engine* engine, mad_peer* peer) {
  return guarded([&]() -> int {
    if (engine == nullptr) return null_argument("mad_peer_release", "engine");
    if (peer == nullptr) return null_argument("mad_peer_release", "peer");
    if (peer->engine != engine) {
      return fail(MAD_ERR_ARGUMENT, "mad_peer_release: the peer belongs to another engine");
    }
    if (peer->status == MAD_SUCCESS) {
      return fail(MAD_ERR_ARGUMENT, "mad_peer_release: the peer is not gone");
    }
    engine->release(*peer);
    return MAD_SUCCESS;
  });
}

extern "C" const char* mad_peer_fabric(const mad_engine* engine, const mad_peer* peer) {
  if (engine == nullptr || peer == nullptr || peer->engine != engine) return "";
  if (engine->closing() || peer->status != MAD_SUCCESS) return "";
  return engine->caps(mad::route(*peer->endpoint).driver).name.c_str();
}

extern "C" int mad_engine_progress(mad_engine* engine, int* events) {
  return guarded([&]() -> int {
    if (engine == nullptr) return null_argument("mad_engine_progress", "engine");
    // A callback of the caller that wants progress gets it when it has returned.
    const bool may_progress = !engine->in_callback() && !engine->closing();
    const std::size_t handled = may_progress ? engine->progress() : 0;
    if (events != nullptr) *events = static_cast<int>(std::min<std::size_t>(handled, 1 << 30));
    return MAD_SUCCESS;
  });
}

extern "C" int mad_engine_wait(mad_engine* engine, uint32_t microseconds) {
  return guarded([&]() -> int {
    if (engine == nullptr) return null_argument("mad_engine_wait", "engine");
    const bool may_wait = !engine->in_callback() && !engine->closing();
    if (may_wait) engine->wait(std::chrono::microseconds(microseconds));
    return MAD_SUCCESS;
  });
}

extern "C" int mad_engine_idle(const mad_engine* engine) {
  return engine == nullptr || engine->closing() || engine->idle() ? 1 : 0;
}

extern "C" int mad_engine_flushed(const mad_engine* engine) {
  return engine == nullptr || engine->closing() || engine->flushed() ? 1 : 0;
}

extern "C" int mad_engine_arrived(const mad_engine* engine) {
  return engine == nullptr || engine->closing() || engine->arrived() ? 1 : 0;
}

extern "C" size_t mad_max_header_bytes(const mad_engine* engine) {
  return engine == nullptr || engine->closing() ? 0 : engine->max_header_bytes();
}

extern "C" int mad_engine_fabric_counters(const mad_engine* engine, int number,
                                          mad_fabric_counters* out) {
  return guarded([&]() -> int {
    if (engine == nullptr) return null_argument("mad_engine_fabric_counters", "engine");
    if (out == nullptr) return null_argument("mad_engine_fabric_counters", "out");
    if (engine->closing()) return being_closed("mad_engine_fabric_counters");
    const auto fabric = static_cast<std::size_t>(number);
    if (number < 0 || fabric >= engine->fabrics()) {
      return fail(MAD_ERR_ARGUMENT, "mad_engine_fabric_counters: no fabric " +
                                        std::to_string(number) + "; the engine has " +
                                        std::to_string(engine->fabrics()));
    }
    *out = engine->fabric_counters(fabric);
    return MAD_SUCCESS;
  });
}

extern "C" const mad_counters* mad_engine_counters(mad_engine* engine) {
  return engine == nullptr || engine->closing() ? nullptr : &engine->counters();
}
