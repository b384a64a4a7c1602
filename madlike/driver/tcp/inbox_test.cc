#include "madlike/driver/tcp/inbox.h"

#include <algorithm>
#include <cstring>
#include <random>
#include <vector>

#include "gtest/gtest.h"

namespace mad {
namespace {

constexpr std::size_t kMaxPacket = 3000;
constexpr TcpInbox::Limits kLimits{kMaxPacket, 600};

// A stream of records, and what is to come out of it.
struct Script {
  struct Item {
    TcpRecord::Kind kind;
    std::vector<std::byte> bytes;
  };
  void add(TcpRecord::Kind kind, std::size_t size, std::mt19937& random) {
    TcpRecord record;
    record.kind = kind;
    record.bytes = static_cast<std::uint32_t>(size);
    record.key = items.size();
    const std::size_t place = stream.size();
    stream.resize(place + record.header_bytes());
    encode_record(record, stream.data() + place);
    Item item{kind, {}};
    for (std::size_t i = 0; i < size; ++i) item.bytes.push_back(static_cast<std::byte>(random()));
    stream.insert(stream.end(), item.bytes.begin(), item.bytes.end());
    stream.resize(stream.size() + record.padding_bytes(), std::byte{0});
    if (kind != TcpRecord::Kind::kFiller) items.push_back(std::move(item));
  }
  std::vector<std::byte> stream;
  std::vector<Item> items;
};

// Reads the stream as a socket would give it, `burst` bytes at a time, some writes (and rests of
// packets) straight to their memory and some through the inbox, some packets released late.
class Reader {
 public:
  Reader(const Script& script, unsigned seed)
      : script_(script),
        random_(seed),
        pool_(4, 8192),  // so that streams go over the ends of chunks
        inbox_(pool_, kLimits) {}

  void run(std::size_t burst) {
    while (found_ < script_.items.size()) {
      take();
      if (found_ == script_.items.size()) break;
      const std::size_t before = place_;
      read(1 + random_() % burst);
      ASSERT_TRUE(place_ > before || !held_.empty()) << "no room at " << place_;
      while (!held_.empty() && (random_() % 2 == 0 || held_.size() > 2)) release();
    }
    while (!held_.empty()) release();
    inbox_.rest();
    EXPECT_EQ(inbox_.chunk(), nullptr);
  }

 private:
  const Script::Item& expected() const { return script_.items[found_]; }

  void take() {
    for (;;) {
      if (inbox_.write_left() > 0) {
        const Segment bytes = inbox_.write_bytes();
        written_.insert(written_.end(), bytes.begin(), bytes.end());
        inbox_.took_write_bytes(bytes.size);
        if (inbox_.write_left() > 0) return;
        ASSERT_TRUE(written_ == expected().bytes);
        ++found_;
        if (found_ == script_.items.size()) return;
      }
      Segment packet;
      const TcpInbox::Found found = inbox_.next(&packet);
      ASSERT_NE(found, TcpInbox::Found::kForeign);
      if (found == TcpInbox::Found::kNothing) return;
      if (found == TcpInbox::Found::kWrite) {
        ASSERT_EQ(expected().kind, TcpRecord::Kind::kWrite);
        ASSERT_EQ(inbox_.write().key, found_);
        written_.clear();
        continue;
      }
      if (found == TcpInbox::Found::kPacket) {
        ASSERT_EQ(expected().kind, TcpRecord::Kind::kPacket);
        take_piece(packet);
        if (inbox_.write_left() > 0 || inbox_.packet_left() > 0) continue;
      }
      ++found_;
      if (found_ == script_.items.size()) return;
    }
  }

  void take_piece(Segment packet) {
    const std::size_t whole = expected().bytes.size();
    if (given_ == 0) {
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(packet.data) % 8, 0u);
      EXPECT_GE(packet.size, whole <= 2 * kLimits.piece_bytes ? whole : kLimits.piece_bytes);
    }
    EXPECT_EQ(inbox_.packet_left(), whole - given_ - packet.size);
    pool_.add_user(*inbox_.chunk());
    held_.push_back({inbox_.chunk(), packet, found_, given_});
    given_ += packet.size;
    if (inbox_.packet_left() > 0 && random_() % 4 == 0) {
      written_.assign(expected().bytes.begin(),
                      expected().bytes.begin() + static_cast<std::ptrdiff_t>(given_));
      inbox_.divert_packet();
    }
    if (inbox_.packet_left() == 0) given_ = 0;
  }

  void read(std::size_t burst) {
    std::size_t left = std::min(burst, script_.stream.size() - place_);
    const bool past = inbox_.write_left() > 0 && random_() % 2 == 0;
    const Segment room = inbox_.room(random_() % 2 == 0 ? 64 : 2048, past);
    if (room.size == 0) return;
    if (past) {
      const std::size_t direct = std::min(left, inbox_.write_left());
      written_.insert(written_.end(), script_.stream.begin() + static_cast<std::ptrdiff_t>(place_),
                      script_.stream.begin() + static_cast<std::ptrdiff_t>(place_ + direct));
      inbox_.read_past(direct);
      place_ += direct;
      left -= direct;
      if (inbox_.write_left() == 0 && left == 0) finish_write();
      if (inbox_.write_left() > 0) return;
      if (left > 0) finish_write();
    }
    const std::size_t bytes = std::min(left, room.size);
    std::memcpy(room.data, script_.stream.data() + place_, bytes);
    inbox_.filled(bytes);
    place_ += bytes;
  }

  void finish_write() {
    ASSERT_TRUE(written_ == expected().bytes);
    ++found_;
  }

  // Bytes of a packet stay as they are until it is released.
  void release() {
    const auto [chunk, packet, item, offset] = held_.front();
    held_.erase(held_.begin());
    const auto& bytes = script_.items[item].bytes;
    ASSERT_LE(offset + packet.size, bytes.size());
    EXPECT_EQ(std::memcmp(packet.data, bytes.data() + offset, packet.size), 0) << "item " << item;
    pool_.drop_user(*chunk);
  }

  struct Held {
    Chunk* chunk;
    Segment packet;
    std::size_t item;
    std::size_t offset;
  };
  const Script& script_;
  std::mt19937 random_;
  ChunkPool pool_;
  TcpInbox inbox_;
  std::size_t place_ = 0;
  std::size_t found_ = 0;
  std::size_t given_ = 0;  // bytes of the packet that comes in pieces
  std::vector<std::byte> written_;
  std::vector<Held> held_;
};

TEST(TcpInbox, EveryStreamIsCutIntoItsRecords) {
  for (unsigned seed = 1; seed <= 40; ++seed) {
    std::mt19937 random(seed);
    Script script;
    for (int i = 0; i < 120; ++i) {
      while (random() % 4 == 0) {
        const std::size_t filled = random() % (TcpRecord::kMostFiller + 1);
        script.add(TcpRecord::Kind::kFiller, filled, random);
      }
      const bool write = random() % 4 == 0;
      const std::size_t most = random() % 3 == 0 ? kMaxPacket : 100;
      script.add(write ? TcpRecord::Kind::kWrite : TcpRecord::Kind::kPacket, 1 + random() % most,
                 random);
    }
    for (const std::size_t size : {600, 601, 1199, 1200, 1201, 1208, 3000}) {
      script.add(TcpRecord::Kind::kPacket, size, random);
    }
    script.add(TcpRecord::Kind::kLast, 0, random);
    for (const std::size_t burst : {1, 7, 100, 5000, 20000}) {
      SCOPED_TRACE(testing::Message() << "seed " << seed << " burst " << burst);
      Reader(script, seed).run(burst);
      if (HasFatalFailure()) return;
    }
  }
}

TEST(TcpInbox, ForeignBytesAreToldAtOnce) {
  ChunkPool pool(2, TcpInbox::chunk_bytes(kLimits));
  TcpInbox inbox(pool, kLimits);
  const Segment room = inbox.room(64);
  ASSERT_GE(room.size, 16u);
  std::memcpy(room.data, "GET / HTTP/1.1\r\n", 16);
  inbox.filled(16);
  Segment packet;
  EXPECT_EQ(inbox.next(&packet), TcpInbox::Found::kForeign);
}

TEST(TcpInbox, APacketBeyondTheLimitIsForeign) {
  ChunkPool pool(2, TcpInbox::chunk_bytes(kLimits));
  TcpInbox inbox(pool, kLimits);
  TcpRecord record;
  record.bytes = kMaxPacket + 1;
  const Segment room = inbox.room(64);
  encode_record(record, room.begin());
  inbox.filled(TcpRecord::kFixedBytes);
  Segment packet;
  EXPECT_EQ(inbox.next(&packet), TcpInbox::Found::kForeign);
}

TEST(TcpInbox, ThereIsRoomForWhatIsMissingAndAsMuchMoreAsIsAsked) {
  ChunkPool pool(2, TcpInbox::chunk_bytes(kLimits));
  TcpInbox inbox(pool, kLimits);
  Segment packet;
  EXPECT_EQ(inbox.room(0).size, TcpRecord::kFixedBytes);
  EXPECT_EQ(inbox.room(64).size, TcpRecord::kFixedBytes + 64);
  TcpRecord record;
  record.bytes = 100;
  encode_record(record, inbox.room(64).begin());
  inbox.filled(TcpRecord::kFixedBytes);
  EXPECT_EQ(inbox.next(&packet), TcpInbox::Found::kNothing);
  EXPECT_EQ(inbox.room(0).size, record.bytes);
  inbox.filled(record.bytes);
  EXPECT_EQ(inbox.next(&packet), TcpInbox::Found::kPacket);
  EXPECT_EQ(inbox.room(0).size, record.padding_bytes() + TcpRecord::kFixedBytes);
}

TEST(TcpInbox, WithoutAChunkThereIsNoRoom) {
  ChunkPool pool(1, TcpInbox::chunk_bytes(kLimits));
  Chunk* const taken = pool.take();
  TcpInbox inbox(pool, kLimits);
  EXPECT_EQ(inbox.room(64).size, 0u);
  pool.drop_user(*taken);
  EXPECT_GT(inbox.room(64).size, 0u);
}

}  // namespace
}  // namespace mad
