// The C functions of messages: they check what the caller gave, then call mad_engine.
#include <string>

#include "madlike/message/session/chunk.h"
#include "madlike/message/wire.h"
#include "netmod/abi/c_enum.h"
#include "netmod/abi/engine.h"
#include "netmod/abi/errors.h"
#include "netmod/abi/message_checks.h"
#include "netmod/abi/types.h"

namespace {

using mad::fail;
using mad::guarded;

int bad(const char* function, const std::string& what) {
  return fail(MAD_ERR_ARGUMENT, std::string(function) + ": " + what);
}

mad::Segment bytes_of(const void* data, std::size_t size) {
  return {const_cast<void*>(data), size};  // sending never writes through it
}

int check_send(const char* function, const mad_engine* engine, const mad_peer* peer,
               std::uint8_t handler, const void* header, std::size_t header_bytes) {
  if (const int error = mad::check_peer(function, engine, peer)) return error;
  if (handler == mad::kMadeleineHandler) {
    return bad(function, "handler 255 is taken by mad_begin_packing()");
  }
  if (handler == mad::kTaggedHandler) {
    return bad(function, "handler 254 is taken by mad_tagged_send()");
  }
  if (header == nullptr && header_bytes > 0) return bad(function, "header is NULL");
  if (header_bytes > engine->max_header_bytes()) {
    return bad(function, "the header has " + std::to_string(header_bytes) +
                             " bytes, mad_max_header_bytes() are " +
                             std::to_string(engine->max_header_bytes()));
  }
  return MAD_SUCCESS;
}

}  // namespace

int mad::wrong_peer(const char* function, const mad_engine* engine, const mad_peer* peer) {
  if (engine == nullptr) return bad(function, "engine is NULL");
  if (peer == nullptr) return bad(function, "peer is NULL");
  if (peer->engine != engine) return bad(function, "the peer belongs to another engine");
  if (engine->closing()) {
    return fail(MAD_ERR_CLOSED, std::string(function) + ": the engine is being closed");
  }
  return fail(peer->status, std::string(function) + ": the peer is gone");
}

int mad::check_any_payload(const char* function, const void* base, std::uint64_t count,
                           const mad_type* type, int path, mad::Payload* out) {
  if (path < 0 || path >= MAD_PATH_COUNT) {
    return bad(function, "no such path; the paths are " + std::string(mad_path_names()));
  }
  out->base = const_cast<void*>(base);
  out->count = count;
  out->bytes = count;
  if (type == nullptr) {
    if (base == nullptr && count > 0) return bad(function, "base is NULL");
    return MAD_SUCCESS;
  }
  if (path == MAD_PATH_OFF) {
    return bad(function, "path off takes bytes that the caller packed: type must be NULL");
  }
  if (const int error = mad::check_committed(type, function)) return error;
  out->type = type;
  return mad::total_bytes(*type->program, count, function, &out->bytes);
}

extern "C" int mad_send_header(mad_engine* engine, mad_peer* peer, uint8_t handler,
                               const void* header, size_t header_bytes) {
  return guarded([&]() -> int {
    constexpr const char* kName = "mad_send_header";
    if (const int error = check_send(kName, engine, peer, handler, header, header_bytes)) {
      return error;
    }
    return mad::to_abi(engine->send_header(*peer, handler, bytes_of(header, header_bytes)));
  });
}

namespace {

int send(const char* function, mad_engine* engine, mad_peer* peer, uint8_t handler,
         mad::Segment header, const void* base, uint64_t count, const mad_type* type, mad_path path,
         bool may_wait, mad_op* op) {
  return guarded([&]() -> int {
    if (const int error = check_send(function, engine, peer, handler, header.data, header.size)) {
      return error;
    }
    mad::Payload payload;
    if (const int error = mad::check_payload(function, base, count, type, path, &payload)) {
      return error;
    }
    if (op == nullptr) return bad(function, "op is NULL");
    return mad::to_abi(engine->send(*peer, handler, header, payload, path, op, may_wait));
  });
}

}  // namespace

extern "C" int mad_send(mad_engine* engine, mad_peer* peer, uint8_t handler, const void* header,
                        size_t header_bytes, const void* base, uint64_t count, const mad_type* type,
                        mad_path path, mad_op* op) {
  return send("mad_send", engine, peer, handler, bytes_of(header, header_bytes), base, count, type,
              path, false, op);
}

extern "C" int mad_send_soon(mad_engine* engine, mad_peer* peer, uint8_t handler,
                             const void* header, size_t header_bytes, const void* base,
                             uint64_t count, const mad_type* type, mad_path path, mad_op* op) {
  return send("mad_send_soon", engine, peer, handler, bytes_of(header, header_bytes), base, count,
              type, path, true, op);
}

extern "C" int mad_recv(mad_engine* engine, mad_incoming* incoming, void* base, uint64_t count,
                        const mad_type* type, mad_path path, mad_op* op, uint64_t* received) {
  return guarded([&]() -> int {
    constexpr const char* kName = "mad_recv";
    if (engine == nullptr) return bad(kName, "engine is NULL");
    if (incoming == nullptr) return bad(kName, "incoming is NULL");
    mad::Payload payload;
    int error = MAD_SUCCESS;
    if (engine->closing()) {
      error = fail(MAD_ERR_CLOSED, "mad_recv: the engine is being closed");
    } else if (op == nullptr || received == nullptr) {
      error = bad(kName, op == nullptr ? "op is NULL" : "received is NULL");
    } else {
      error = mad::check_payload(kName, base, count, type, path, &payload);
    }
    if (error != MAD_SUCCESS) {
      engine->discard(incoming);  // the sender must not wait for ever
      return error;
    }
    return mad::to_abi(engine->receive(incoming, payload, path, op, received));
  });
}

extern "C" void mad_discard(mad_engine* engine, mad_incoming* incoming) {
  (void)guarded([&]() -> int {
    if (engine == nullptr || incoming == nullptr) {
      return bad("mad_discard", "engine or incoming is NULL");
    }
    engine->discard(incoming);
    return MAD_SUCCESS;
  });
}
