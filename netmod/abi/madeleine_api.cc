// The C functions of the Madeleine interface: they check what the caller gave, make payloads of
// described data, then call the engine's sessions.
#include <memory>
#include <string>
#include <utility>

#include "datatype_path/cursor/cursor.h"
#include "datatype_path/plan/plan.h"
#include "datatype_path/transfer/converting_sink.h"
#include "datatype_path/transfer/layout_transfer.h"
#include "netmod/abi/c_enum.h"
#include "netmod/abi/engine.h"
#include "netmod/abi/errors.h"
#include "netmod/abi/types.h"

struct mad_packing {
  mad_engine* engine;
  const mad::Policy* policy;  // for what it sends
  mad::PackingSession* session;
};

struct mad_unpacking {
  mad_engine* engine;
  mad::UnpackingSession* session;
};

namespace {

using mad::fail;
using mad::guarded;
using mad::ReceiveMode;
using mad::Segment;
using mad::SendMode;

int bad(const char* function, const std::string& what) {
  return fail(MAD_ERR_ARGUMENT, std::string(function) + ": " + what);
}

// These calls wait, and waiting progresses the engine.
int check_engine(const char* function, const mad_engine* engine) {
  if (engine->in_callback()) return bad(function, "called inside a callback of the engine");
  if (engine->closing()) {
    return fail(MAD_ERR_CLOSED, std::string(function) + ": the engine is being closed");
  }
  return MAD_SUCCESS;
}

template <typename Session>
int check_session(const char* function, const Session* session) {
  if (session == nullptr) return bad(function, "session is NULL");
  return check_engine(function, session->engine);
}

int check_modes(const char* function, const mad_send_mode& send_mode,
                const mad_recv_mode& recv_mode) {
  const int send = mad::c_value(send_mode);
  const int recv = mad::c_value(recv_mode);
  if (send < MAD_SEND_SAFER || send > MAD_SEND_CHEAPER) {
    return bad(function, "no such send mode; there are SAFER, LATER and CHEAPER");
  }
  if (recv < MAD_RECV_EXPRESS || recv > MAD_RECV_CHEAPER) {
    return bad(function, "no such receive mode; there are EXPRESS and CHEAPER");
  }
  return MAD_SUCCESS;
}

template <typename Session>
int check_piece(const char* function, const Session* session, const void* data, std::size_t size,
                const mad_send_mode& send_mode, const mad_recv_mode& recv_mode) {
  if (const int error = check_session(function, session)) return error;
  if (const int error = check_modes(function, send_mode, recv_mode)) return error;
  if (data == nullptr && size > 0) return bad(function, "data is NULL");
  return MAD_SUCCESS;
}

template <typename Session>
int check_layout(const char* function, const Session* session, std::uint64_t count,
                 const mad_type* type, const mad_send_mode& send_mode,
                 const mad_recv_mode& recv_mode, std::uint64_t* bytes) {
  if (const int error = check_session(function, session)) return error;
  if (const int error = check_modes(function, send_mode, recv_mode)) return error;
  if (const int error = mad::check_committed(type, function)) return error;
  return mad::total_bytes(*type->program, count, function, bytes);
}

SendMode to_send_mode(mad_send_mode mode) {
  if (mode == MAD_SEND_SAFER) return SendMode::kSafer;
  return mode == MAD_SEND_LATER ? SendMode::kLater : SendMode::kCheaper;
}

ReceiveMode to_receive_mode(mad_recv_mode mode) {
  return mode == MAD_RECV_EXPRESS ? ReceiveMode::kExpress : ReceiveMode::kCheaper;
}

// The run that such a datum is; it may be empty.
Segment single_run(void* base, std::uint64_t count, const mad::BlockProgram& program,
                   std::uint64_t bytes) {
  if (bytes == 0) return {};
  return mad::Cursor(program, base, count).next_run(static_cast<std::size_t>(bytes));
}

// Where a piece goes that comes from another machine.
mad::Result<mad::PieceSink> foreign_piece(mad_engine& engine, const mad::Architecture& machine,
                                          void* base, std::uint64_t count,
                                          const mad::TypeDescPtr& type) {
  auto plan = engine.foreign().plan(type, machine);
  if (!plan.ok()) return plan.status();
  const auto bytes = (*plan)->remote_bytes(count);
  if (!bytes.ok()) return bytes.status();
  mad::PieceSink piece;
  piece.sink = std::make_unique<mad::ConvertingSink>(std::move(*plan), base, count);
  piece.bytes = *bytes;
  return piece;
}

}  // namespace

extern "C" int mad_begin_packing(mad_engine* engine, mad_peer* peer, mad_packing** out) {
  return guarded([&]() -> int {
    constexpr const char* kName = "mad_begin_packing";
    if (engine == nullptr) return bad(kName, "engine is NULL");
    if (peer == nullptr) return bad(kName, "peer is NULL");
    if (out == nullptr) return bad(kName, "out is NULL");
    if (peer->engine != engine) return bad(kName, "the peer belongs to another engine");
    if (const int error = check_engine(kName, engine)) return error;
    if (peer->status != MAD_SUCCESS) {
      return fail(peer->status, std::string(kName) + ": the peer is gone");
    }
    auto handle = std::make_unique<mad_packing>();
    const bool to_self = engine->is_self(*peer);
    handle->engine = engine;
    handle->policy = &engine->policy(*peer);
    handle->session = &engine->sessions().begin_packing(*peer->endpoint, to_self);
    *out = handle.release();
    return MAD_SUCCESS;
  });
}

extern "C" int mad_pack(mad_packing* session, const void* data, size_t size,
                        mad_send_mode send_mode, mad_recv_mode recv_mode) {
  return guarded([&]() -> int {
    if (const int error = check_piece("mad_pack", session, data, size, send_mode, recv_mode)) {
      return error;
    }
    const Segment piece{const_cast<void*>(data), size};  // sending never writes through it
    return mad::to_abi(session->session->pack(piece, to_send_mode(send_mode)));
  });
}

extern "C" int mad_pack_layout(mad_packing* session, const void* base, uint64_t count,
                               const mad_type* type, mad_send_mode send_mode,
                               mad_recv_mode recv_mode) {
  return guarded([&]() -> int {
    std::uint64_t bytes = 0;
    if (const int error =
            check_layout("mad_pack_layout", session, count, type, send_mode, recv_mode, &bytes)) {
      return error;
    }
    const SendMode mode = to_send_mode(send_mode);
    void* const memory = const_cast<void*>(base);  // sending never writes through it
    if (bytes == 0 || type->program->shape().is_one_run(count)) {
      const Segment run = single_run(memory, count, *type->program, bytes);
      return mad::to_abi(session->session->pack(run, mode));
    }
    const mad::Plan plan = session->policy->send(type->program->shape(), count, mad::Mode::kAuto);
    mad::PieceSource piece;
    piece.source =
        std::make_unique<mad::LayoutSource>(type->program, memory, count, plan.reference_from);
    piece.bytes = bytes;
    piece.flush_bytes = plan.flush_bytes;
    return mad::to_abi(session->session->pack(std::move(piece), mode));
  });
}

extern "C" int mad_end_packing(mad_packing* session) {
  return guarded([&]() -> int {
    if (const int error = check_session("mad_end_packing", session)) return error;
    const std::unique_ptr<mad_packing> handle(session);
    return mad::to_abi(handle->engine->sessions().end(*handle->session));
  });
}

extern "C" int mad_begin_unpacking(mad_engine* engine, int timeout_ms, mad_peer** from,
                                   mad_unpacking** out) {
  return guarded([&]() -> int {
    constexpr const char* kName = "mad_begin_unpacking";
    if (engine == nullptr) return bad(kName, "engine is NULL");
    if (out == nullptr) return bad(kName, "out is NULL");
    if (const int error = check_engine(kName, engine)) return error;
    auto handle = std::make_unique<mad_unpacking>();
    handle->engine = engine;
    handle->session = engine->sessions().begin_unpacking(timeout_ms);
    if (handle->session == nullptr) return MAD_IN_PROGRESS;
    if (from != nullptr) *from = &engine->named_peer_of(handle->session->message().from());
    *out = handle.release();
    return MAD_SUCCESS;
  });
}

extern "C" int mad_unpack(mad_unpacking* session, void* data, size_t size, mad_send_mode send_mode,
                          mad_recv_mode recv_mode) {
  return guarded([&]() -> int {
    if (const int error = check_piece("mad_unpack", session, data, size, send_mode, recv_mode)) {
      return error;
    }
    const Segment piece{data, size};
    return mad::to_abi(session->session->unpack(piece, to_receive_mode(recv_mode)));
  });
}

extern "C" int mad_unpack_layout(mad_unpacking* session, void* base, uint64_t count,
                                 const mad_type* type, mad_send_mode send_mode,
                                 mad_recv_mode recv_mode) {
  return guarded([&]() -> int {
    std::uint64_t bytes = 0;
    if (const int error =
            check_layout("mad_unpack_layout", session, count, type, send_mode, recv_mode, &bytes)) {
      return error;
    }
    const ReceiveMode mode = to_receive_mode(recv_mode);
    mad_engine& engine = *session->engine;
    const auto* const machine = engine.foreign_machine(session->session->message().from());
    if (machine != nullptr && !type->foreign) {
      auto piece = foreign_piece(engine, *machine, base, count, type->desc);
      if (!piece.ok()) return mad::to_abi(piece.status());
      return mad::to_abi(session->session->unpack(std::move(*piece), mode));
    }
    if (bytes == 0 || type->program->shape().is_one_run(count)) {
      const Segment run = single_run(base, count, *type->program, bytes);
      return mad::to_abi(session->session->unpack(run, mode));
    }
    mad::PieceSink piece;
    piece.sink = std::make_unique<mad::LayoutSink>(type->program, base, count, false);
    piece.bytes = bytes;
    return mad::to_abi(session->session->unpack(std::move(piece), mode));
  });
}

extern "C" int mad_end_unpacking(mad_unpacking* session) {
  return guarded([&]() -> int {
    if (const int error = check_session("mad_end_unpacking", session)) return error;
    const std::unique_ptr<mad_unpacking> handle(session);
    return mad::to_abi(handle->engine->sessions().end(*handle->session));
  });
}
