// ChunkTest: an engine that sends chunks as the test wants them, to one that unpacks.
#ifndef MADLIKE_MESSAGE_SESSION_CHUNK_FIXTURE_H_
#define MADLIKE_MESSAGE_SESSION_CHUNK_FIXTURE_H_

#include <deque>
#include <utility>
#include <vector>

#include "madlike/message/session/chunk.h"
#include "madlike/message/session/session_fixture.h"

namespace mad {

class ChunkTest : public SessionTest {
 protected:
  /// A chunk on its way to `b`.
  struct RawChunk final : OutgoingOperation {
    void finished(const Status&) override { done = true; }
    bool done = false;
    Bytes bytes;
    BytesSource run;
  };

  /// Moves all engines until nothing happens any more.
  void pump() {
    for (int quiet = 0; quiet < 20; ++quiet) {
      for (test::SessionParty* const engine : engines) {
        if (engine->messenger().progress() > 0) quiet = 0;
      }
    }
  }
  /// From `a`, or from whom it is said.
  RawChunk& send(const ChunkHeader& chunk, Bytes bytes,
                 std::size_t header_bytes = ChunkHeader::kBytes,
                 test::SessionParty* from = nullptr) {
    RawChunk& raw = post(chunk, std::move(bytes), header_bytes, from);
    pump();
    return raw;
  }
  /// The same, which moves no engine.
  RawChunk& post(const ChunkHeader& chunk, Bytes bytes,
                 std::size_t header_bytes = ChunkHeader::kBytes,
                 test::SessionParty* from = nullptr) {
    if (from == nullptr) from = &a;
    RawChunk& raw = chunks_.emplace_back();
    raw.bytes = std::move(bytes);
    raw.run = BytesSource(of(raw.bytes));
    raw.source = &raw.run;
    raw.payload_bytes = raw.bytes.size();
    auto header = chunk.encode();
    const Status status = from->messenger().send(from->endpoint(b), kMadeleineHandler,
                                                 {header.data(), header_bytes}, raw);
    EXPECT_FALSE(status.error()) << status.message();
    if (!status.in_progress()) raw.done = true;
    return raw;
  }
  /// A chunk of one piece, the byte `value`; the last one ends its message.
  RawChunk& send_byte(std::uint32_t message, std::uint32_t sequence, bool last, int value,
                      test::SessionParty* from = nullptr) {
    ChunkHeader chunk;
    chunk.message = message;
    chunk.sequence = sequence;
    chunk.last = last;
    Bytes bytes{std::byte{2}, static_cast<std::byte>(value)};
    if (last) bytes.push_back(std::byte{0});
    return send(chunk, std::move(bytes), ChunkHeader::kBytes, from);
  }
  static Status unpack_byte(UnpackingSession& session, int expected) {
    std::byte got{};
    Status status = session.unpack(of(got), ReceiveMode::kExpress);
    if (status.ok()) {
      EXPECT_EQ(std::to_integer<int>(got), expected);
    }
    return status;
  }

  std::vector<test::SessionParty*> engines{&a, &b};

 private:
  std::deque<RawChunk> chunks_;
};

}  // namespace mad

#endif  // MADLIKE_MESSAGE_SESSION_CHUNK_FIXTURE_H_
