// Where a packet of the shm driver is written: in the ring, or beside it if it is copied from many
// short runs.
#include <algorithm>
#include <cstdint>

#include "tests/conformance/shm/engine.h"

namespace mad {
namespace {

/// Writes a packet of these bytes, as if from such runs, and remembers where.
class Writer final : public PacketWriter {
 public:
  Writer(const Bytes& bytes, std::uint64_t run_bytes)
      : PacketWriter(bytes.size(), run_bytes), bytes_(bytes) {}
  std::byte* where = nullptr;

 private:
  void write_next(Segment room) override {
    where = room.begin();
    std::copy_n(bytes_.begin() + static_cast<std::ptrdiff_t>(written_), room.size, where);
    written_ += room.size;
  }

  const Bytes& bytes_;
  std::size_t written_ = 0;
};

class ShmLentTest : public ::testing::Test {
 protected:
  void SetUp() override {
    to_b_ = a_.connect(b_);
    from_a_ = b_.connect(a_);
    ASSERT_TRUE(pump({&a_, &b_}, [&] {
      return a_.station.connected.count(to_b_) == 1 && b_.station.connected.count(from_a_) == 1;
    }));
  }
  ShmWriter& ring() { return *a_.shm().connection(to_b_)->out; }
  /// Whether the next packet is written in the ring itself; it arrives in any case.
  bool is_written_there(std::size_t bytes, std::uint64_t run_bytes) {
    const Bytes packet = pattern(bytes, static_cast<unsigned>(bytes));
    Writer writer(packet, run_bytes);
    const std::byte* const begin = ring().memory().at(0);
    const std::size_t before = b_.station.received.size();
    EXPECT_TRUE(a_.driver->post_lent(to_b_, writer).ok());
    EXPECT_TRUE(pump({&a_, &b_}, [&] { return b_.station.received.size() == before + 1; }));
    EXPECT_TRUE(b_.station.received.back().bytes == packet);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(writer.where) % RingShape::kLine,
              RingShape::kMarkBytes)
        << "as in the ring, or the copy to it is slow";
    return writer.where >= begin && writer.where < begin + kShmRingBytes;
  }

  ShmEngine a_, b_;
  ConnectionId to_b_ = 0, from_a_ = 0;
};

TEST_F(ShmLentTest, ShortRunsAreCollectedBesideTheRing) {
  for (const std::size_t bytes : {std::size_t{2048}, std::size_t{5000}, kShmPieceBytes}) {
    for (const std::uint64_t run : {1u, 64u, 4096u}) EXPECT_FALSE(is_written_there(bytes, run));
  }
}

TEST_F(ShmLentTest, ShortPacketsAndLongRunsAreWrittenWhereTheyAreRead) {
  EXPECT_TRUE(is_written_there(2047, 1));
  EXPECT_TRUE(is_written_there(8, 8));
  EXPECT_TRUE(is_written_there(kShmPieceBytes, 4097));
  EXPECT_TRUE(is_written_there(kShmPieceBytes, UINT64_MAX));
}

}  // namespace
}  // namespace mad
