#include "madlike/driver/tcp/outbox.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <random>
#include <utility>

#include "madlike/driver/door/sockets.h"
#include "madlike/driver/tcp/narrow_socket.h"

namespace mad {
namespace {

class TcpOutboxTest : public TcpNarrowSocket {};

TEST_F(TcpOutboxTest, WhatFitsGoesAtOnce) {
  for (const std::size_t size : {100, 2000}) {
    TcpOutbox outbox;
    Bytes a(13, std::byte{1}), b(0), c(size, std::byte{3});
    const Segment segments[] = {{a.data(), a.size()}, {b.data(), b.size()}, {c.data(), c.size()}};
    TcpRecord record;
    record.bytes = static_cast<std::uint32_t>(a.size() + c.size());
    EXPECT_EQ(outbox.send(near(), record, {segments, 3}, nullptr), TcpOutbox::Outcome::kSent);
    EXPECT_TRUE(outbox.empty());
    EXPECT_FALSE(outbox.ripe()) << "nothing is to be flushed";
    Bytes all(a);
    all.insert(all.end(), c.begin(), c.end());
    expect(record, all);
    read(3000);
    EXPECT_EQ(read_, expected_);
  }
}

TEST_F(TcpOutboxTest, WhatDoesNotFitFollowsInOrder) {
  std::mt19937 random(5);
  TcpOutbox outbox;
  std::vector<Bytes> memory;
  std::vector<int> contexts(400);
  std::vector<TcpOutbox::Finished> finished;
  std::size_t waiting = 0, full = 0;
  for (std::size_t i = 0; i < contexts.size(); ++i) {
    const bool just_copied = random() % 8 == 0;
    Bytes bytes(just_copied ? TcpOutbox::kCopyBytes : 1 + random() % (random() % 2 ? 20 : 12000));
    if (random() % 8 == 0) outbox.cork();
    if (random() % 8 == 0) outbox.uncork();
    for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
    memory.push_back(bytes);
    Bytes& own = memory.back();
    TcpRecord record;
    record.kind = random() % 2 ? TcpRecord::Kind::kPacket : TcpRecord::Kind::kWrite;
    record.bytes = static_cast<std::uint32_t>(own.size());
    record.key = i;
    const std::size_t cut = random() % own.size();
    const Segment segments[] = {{own.data(), cut}, {own.data() + cut, own.size() - cut}};
    TcpOutbox::Outcome outcome = TcpOutbox::Outcome::kFull;
    for (;;) {
      const TcpOutbox::Finished tell{Completion::Kind::kSent, &contexts[i]};
      outcome = outbox.send(near(), record, {segments, 2}, &tell);
      if (outcome != TcpOutbox::Outcome::kFull) break;
      ++full;
      read(random() % 9000);
      outbox.flush(near(), &finished);
    }
    ASSERT_NE(outcome, TcpOutbox::Outcome::kBroken);
    if (outcome == TcpOutbox::Outcome::kWaits) ++waiting;
    expect(record, bytes);
    // What was taken or copied may change.
    const bool copied = own.size() <= TcpOutbox::kCopyBytes;
    if (copied || outcome == TcpOutbox::Outcome::kSent) {
      std::fill(own.begin(), own.end(), std::byte{0xEE});
    }
    if (outbox.ripe()) outbox.flush(near(), &finished);
    if (random() % 3 == 0) read(random() % 9000);
    if (random() % 3 == 0) outbox.flush(near(), &finished);
  }
  while (!outbox.empty()) {
    read(5000);
    outbox.flush(near(), &finished);
  }
  read_all();
  EXPECT_TRUE(without_fillers(read_) == expected_);
  EXPECT_GT(full, 0u);
  ASSERT_EQ(finished.size(), waiting);
  for (std::size_t i = 1; i < finished.size(); ++i) {
    EXPECT_LT(finished[i - 1].context, finished[i].context) << "one each, in order";
  }
}

/// Writes these bytes.
class ShortWriter final : public PacketWriter {
 public:
  explicit ShortWriter(const Bytes& bytes) : PacketWriter(bytes.size()), bytes_(bytes) {}

 private:
  void write_next(Segment room) override {
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(room.data) % 8, 0u);
    std::copy_n(bytes_.begin(), room.size, room.begin());
  }

  const Bytes& bytes_;
};

class TcpShortPackets : public TcpNarrowSocket {
 protected:
  void SetUp() override {
    TcpNarrowSocket::SetUp();
    const int large = 1 << 20;
    ASSERT_EQ(setsockopt(near(), SOL_SOCKET, SO_SNDBUF, &large, sizeof(large)), 0);
  }
  TcpOutbox::Outcome send(const Bytes& bytes) {
    ShortWriter writer(bytes);
    return outbox_.send_short(near(), writer);
  }
  /// Of a packet of these bytes.
  void expect_packet(const Bytes& bytes) {
    TcpRecord record;
    record.bytes = static_cast<std::uint32_t>(bytes.size());
    expect(record, bytes);
  }
  void flush() {
    (void)outbox_.flush(near(), &finished_);
    read_all();
  }

  TcpOutbox outbox_;
  std::vector<TcpOutbox::Finished> finished_;
};

TEST_F(TcpShortPackets, LeaveAtOnce) {
  for (const std::size_t size : {std::size_t{1}, std::size_t{13}, std::size_t{1024},
                                 TcpOutbox::kShortBytes - 1, TcpOutbox::kShortBytes}) {
    const Bytes bytes = pattern(size, 3);
    EXPECT_EQ(send(bytes), TcpOutbox::Outcome::kSent);
    EXPECT_TRUE(outbox_.empty());
    expect_packet(bytes);
    read_all();
    EXPECT_EQ(read_, expected_) << size;
  }
}

TEST_F(TcpShortPackets, DoNotOvertakeWhatWaitsNorWhatIsCorked) {
  Bytes first(40, std::byte{1});
  const Bytes second(50, std::byte{2});
  const Segment segment{first.data(), first.size()};
  TcpRecord record;
  record.bytes = static_cast<std::uint32_t>(first.size());
  outbox_.cork();
  EXPECT_EQ(send(second), TcpOutbox::Outcome::kFull);
  ASSERT_EQ(outbox_.send(near(), record, {&segment, 1}, nullptr), TcpOutbox::Outcome::kWaits);
  outbox_.uncork();
  EXPECT_EQ(send(second), TcpOutbox::Outcome::kFull);
  expect(record, first);
  flush();
  EXPECT_EQ(read_, expected_);
  EXPECT_EQ(send(second), TcpOutbox::Outcome::kSent);
  expect_packet(second);
  read_all();
  EXPECT_EQ(read_, expected_);
}

/// Two ends of a connection over the loopback interface, as the driver's are.
class TcpEnds {
 public:
  explicit TcpEnds(int receive_bytes) {
    const int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(address);
    if (receive_bytes > 0) {
      EXPECT_EQ(setsockopt(listener, SOL_SOCKET, SO_RCVBUF, &receive_bytes, sizeof(int)), 0);
    }
    EXPECT_EQ(bind(listener, reinterpret_cast<sockaddr*>(&address), size), 0);
    EXPECT_EQ(listen(listener, 1), 0);
    EXPECT_EQ(getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size), 0);
    near = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    EXPECT_EQ(connect(near, reinterpret_cast<sockaddr*>(&address), size), 0);
    far = accept(listener, nullptr, nullptr);
    EXPECT_GE(far, 0);
    close(listener);
    tcp_configure(near, std::chrono::seconds(0));
  }
  ~TcpEnds() {
    close(near);
    close(far);
  }
  int near = -1, far = -1;
};

// None waits in part, however full the socket is: a message would seem to have left.
TEST(TcpShortPacket, OfARealSocketLeavesWholeOrNotAtAll) {
  for (const int receive_bytes : {0, 8 * 1024, 64 * 1024}) {
    TcpEnds ends(receive_bytes);
    TcpOutbox outbox;
    std::mt19937 random(13);
    std::size_t refused = 0, sent = 0, read = 0;
    Bytes in(1 << 20);
    for (unsigned i = 0; i < 6000; ++i) {
      const bool is_long = random() % 2 == 0;
      const Bytes bytes = pattern(1 + random() % (is_long ? TcpOutbox::kShortBytes : 40), i);
      ShortWriter writer(bytes);
      const TcpOutbox::Outcome outcome = outbox.send_short(ends.near, writer);
      ASSERT_TRUE(outcome == TcpOutbox::Outcome::kSent || outcome == TcpOutbox::Outcome::kFull)
          << i;
      TcpRecord record;
      record.bytes = static_cast<std::uint32_t>(bytes.size());
      if (outcome == TcpOutbox::Outcome::kSent) {
        sent += record.all_bytes();
        continue;
      }
      ++refused;
      const ssize_t got = recv(ends.far, in.data(), random() % in.size(), MSG_DONTWAIT);
      if (got > 0) read += static_cast<std::size_t>(got);
    }
    EXPECT_GT(refused, 0u);
    while (read < sent) {
      const ssize_t got = recv(ends.far, in.data(), in.size(), 0);
      ASSERT_GT(got, 0);
      read += static_cast<std::size_t>(got);
    }
    EXPECT_EQ(read, sent);
  }
}

TEST_F(TcpShortPackets, AreRefusedByABrokenSocket) {
  close(pair_[1]);
  pair_[1] = -1;
  const Bytes bytes(8);
  EXPECT_EQ(send(bytes), TcpOutbox::Outcome::kBroken);
  EXPECT_EQ(send(bytes), TcpOutbox::Outcome::kBroken);
}

// Whether they leave at once, later or bit by bit, and whatever is between them.
TEST_F(TcpOutboxTest, LongSegmentsBeginInALineOfWhatIsSentWhereTheyDoInOneOfMemory) {
  struct Sent {
    TcpRecord record;
    std::size_t head;        // bytes before the first long segment
    std::uintptr_t address;  // of it; 0: none that fillers can move, or it was copied
  };
  constexpr std::size_t kLine = TcpRecord::kLine;
  std::mt19937 random(7);
  std::vector<TcpOutbox::Finished> finished;
  Bytes head(240), memory(kLine + 12000);
  TcpOutbox outbox;
  std::vector<Sent> all;
  std::size_t filled = 0;
  for (int i = 0; i < 1000; ++i) {
    const bool is_long = random() % 2 == 0, corked = random() % 3 == 0;
    const std::size_t more = random() % 4 == 0 ? 0 : random() % 7000;
    const std::size_t size = is_long ? TcpOutbox::kLongSegment + more : random() % 700;
    const std::size_t start = random() % 2 == 0 ? 8 * (1 + random() % 30) : 1 + random() % 240;
    const std::size_t shift = random() % 2 == 0 ? 8 * (random() % 8) : random() % kLine;
    const Segment segments[] = {{head.data(), start},
                                {memory.data() + shift, size},
                                {memory.data(), is_long ? TcpOutbox::kLongSegment : 0}};
    TcpRecord record;
    record.kind = random() % 2 ? TcpRecord::Kind::kPacket : TcpRecord::Kind::kWrite;
    record.bytes = static_cast<std::uint32_t>(start + size + segments[2].size);
    if (corked) outbox.cork();
    while (outbox.send(near(), record, {segments, 3}, nullptr) == TcpOutbox::Outcome::kFull) {
      read(random() % 5000);
      outbox.flush(near(), &finished);
    }
    outbox.uncork();
    const auto address = reinterpret_cast<std::uintptr_t>(segments[1].data);
    const bool copied = corked && record.bytes <= TcpOutbox::kCorkCopyBytes;
    const bool fits = (address - record.header_bytes() - start) % TcpRecord::kAlignment == 0;
    all.push_back({record, start, is_long && !copied && fits ? address : 0});
    filled += all.back().address != 0;
  }
  EXPECT_GT(filled, 100u);
  while (!outbox.empty()) {
    read(5000);
    outbox.flush(near(), &finished);
  }
  read_all();
  std::size_t place = 0;
  const auto filler_here = [&] {
    TcpRecord record;
    const bool is_one = place < read_.size() && decode_record(&read_[place], &record) &&
                        record.kind == TcpRecord::Kind::kFiller;
    return is_one ? record.all_bytes() : 0;
  };
  for (std::size_t i = 0; i < all.size(); ++i) {
    SCOPED_TRACE(testing::Message() << "record " << i << " at " << place);
    const Sent& sent = all[i];
    const std::size_t begin = place;
    if (sent.address != 0) place += filler_here();
    TcpRecord record;
    ASSERT_LT(place + TcpRecord::kFixedBytes, read_.size());
    ASSERT_TRUE(decode_record(&read_[place], &record));
    ASSERT_EQ(record.kind, sent.record.kind);
    ASSERT_EQ(record.bytes, sent.record.bytes);
    const std::size_t segment = place + record.header_bytes() + sent.head - begin;
    place += record.all_bytes();
    if (sent.address == 0) continue;
    EXPECT_EQ(segment % kLine, sent.address % kLine);
    const std::size_t over = (place - begin) % kLine;
    if (over == 0) continue;
    EXPECT_EQ(filler_here(), kLine - over);
    place += kLine - over;
  }
  EXPECT_EQ(place, read_.size());
}

TEST_F(TcpOutboxTest, ACopyIsOverWhenTheSocketHasIt) {
  TcpOutbox outbox;
  std::vector<TcpOutbox::Finished> finished;
  std::vector<int> contexts(1000);
  Bytes bytes(100);
  const Segment segment{bytes.data(), bytes.size()};
  TcpRecord record;
  record.bytes = 100;
  std::size_t waiting = 0;
  for (int& context : contexts) {
    const TcpOutbox::Finished tell{Completion::Kind::kSent, &context};
    const auto outcome = outbox.send(near(), record, {&segment, 1}, &tell);
    expect(record, bytes);
    if (outcome == TcpOutbox::Outcome::kWaits && waiting++ == 0) outbox.flush(near(), &finished);
  }
  ASSERT_GT(waiting, 100u) << "who was told that they are sent would not come back for them";
  EXPECT_TRUE(finished.empty());
  while (read_.size() < expected_.size()) {
    read(3000);
    const std::size_t before = finished.size();
    outbox.flush(near(), &finished);
    EXPECT_LE(finished.size() - before, 2 * TcpOutbox::kBatchBytes / record.all_bytes());
  }
  EXPECT_TRUE(outbox.empty());
  ASSERT_EQ(finished.size(), waiting);
  EXPECT_EQ(finished.back().context, &contexts.back());
}

TEST_F(TcpOutboxTest, ACorkKeepsShortRecordsUntilItIsDrawn) {
  TcpOutbox outbox;
  for (int round = 0; round < 2; ++round) {
    std::vector<TcpOutbox::Finished> finished;
    std::vector<int> contexts(20);
    read_.clear();
    expected_.clear();
    outbox.cork();
    for (std::size_t i = 1; i <= 20; ++i) {
      Bytes bytes(i, static_cast<std::byte>(i));
      const Segment segment{bytes.data(), bytes.size()};
      TcpRecord record;
      record.bytes = static_cast<std::uint32_t>(i);
      const TcpOutbox::Finished tell{Completion::Kind::kSent, &contexts[i - 1]};
      ASSERT_EQ(outbox.send(near(), record, {&segment, 1}, &tell), TcpOutbox::Outcome::kWaits);
      expect(record, bytes);
    }
    read(1000);
    EXPECT_TRUE(read_.empty());
    EXPECT_FALSE(outbox.ripe());
    outbox.uncork();
    EXPECT_TRUE(outbox.ripe());
    EXPECT_TRUE(outbox.flush(near(), &finished));
    EXPECT_TRUE(outbox.empty());
    EXPECT_EQ(finished.size(), contexts.size());
    read(1000);
    EXPECT_EQ(read_, expected_);
  }
}

TEST_F(TcpOutboxTest, ACorkKeepsNoLongerRecordsThanItSays) {
  for (const std::size_t size : {TcpOutbox::kCorkBytes, TcpOutbox::kCorkBytes + 1}) {
    TcpOutbox outbox;
    Bytes bytes(size);
    const Segment segment{bytes.data(), bytes.size()};
    TcpRecord record;
    record.bytes = static_cast<std::uint32_t>(size);
    outbox.cork();
    (void)outbox.send(near(), record, {&segment, 1}, nullptr);
    read(1);
    EXPECT_EQ(read_.empty(), size == TcpOutbox::kCorkBytes);
  }
}

TEST_F(TcpOutboxTest, ACorkKeepsLongerRecordsWhereTheyAre) {
  TcpOutbox outbox;
  std::vector<TcpOutbox::Finished> finished;
  int contexts[2] = {};
  Bytes bytes[2] = {Bytes(10000), Bytes(20000)};
  outbox.cork();
  for (int i = 0; i < 2; ++i) {
    TcpRecord record;
    record.bytes = static_cast<std::uint32_t>(bytes[i].size());
    const Segment segment{bytes[i].data(), bytes[i].size()};
    const TcpOutbox::Finished tell{Completion::Kind::kSent, &contexts[i]};
    ASSERT_EQ(outbox.send(near(), record, {&segment, 1}, &tell), TcpOutbox::Outcome::kWaits);
    bytes[i].assign(bytes[i].size(), static_cast<std::byte>(1 + i));  // not read before
    expect(record, bytes[i]);
  }
  read(1000);
  EXPECT_TRUE(read_.empty());
  EXPECT_FALSE(outbox.ripe());
  outbox.uncork();
  for (int i = 0; i < 100 && !outbox.empty(); ++i) {
    outbox.flush(near(), &finished);
    read(9000);
  }
  read_all();
  EXPECT_TRUE(without_fillers(read_) == expected_);
  ASSERT_EQ(finished.size(), 2u);
  EXPECT_EQ(finished[0].context, &contexts[0]);
  EXPECT_EQ(finished[1].context, &contexts[1]);
}

TEST_F(TcpOutboxTest, ManyCopiesManyBytesOrManyRecordsEndTheWaitUnderACork) {
  Bytes bytes(TcpOutbox::kCorkBytes);
  struct {
    std::size_t size, records;
  } const cases[] = {{TcpOutbox::kCorkCopyBytes - TcpRecord::kFixedBytes,
                      TcpOutbox::kBatchBytes / TcpOutbox::kCorkCopyBytes},
                     {TcpOutbox::kKeptBytes / 4 - TcpRecord::kFixedBytes, 4},
                     {TcpOutbox::kCorkCopyBytes / 2 * 3,
                      TcpOutbox::kKeptBytes * 2 / 3 / TcpOutbox::kCorkCopyBytes + 1}};
  for (const auto& one : cases) {
    TcpOutbox outbox;
    outbox.cork();
    const Segment segment{bytes.data(), one.size};
    TcpRecord record;
    record.bytes = static_cast<std::uint32_t>(one.size);
    for (std::size_t i = 0; i < one.records; ++i) {
      EXPECT_FALSE(outbox.ripe()) << one.size << " bytes, " << i;
      (void)outbox.send(near(), record, {&segment, 1}, nullptr);
    }
    EXPECT_TRUE(outbox.ripe()) << one.size;
  }
  TcpOutbox outbox;
  outbox.cork();
  const Segment little{bytes.data(), 8}, longer{bytes.data(), TcpOutbox::kCorkCopyBytes + 1};
  TcpRecord record;
  for (std::size_t i = 0; i < TcpOutbox::kDepth; ++i) {
    EXPECT_FALSE(outbox.ripe());
    const Segment& segment = i % 2 == 0 ? little : longer;
    record.bytes = static_cast<std::uint32_t>(segment.size);
    ASSERT_NE(outbox.send(near(), record, {&segment, 1}, nullptr), TcpOutbox::Outcome::kFull);
  }
  EXPECT_TRUE(outbox.ripe()) << "no place is left";
}

TEST_F(TcpOutboxTest, ALongRecordEndsTheWaitUnderACork) {
  TcpOutbox outbox;
  std::vector<TcpOutbox::Finished> finished;
  Bytes little(8), longer(TcpOutbox::kKeptBytes);
  const Segment one{little.data(), little.size()}, all{longer.data(), longer.size()};
  TcpRecord record;
  record.bytes = 8;
  outbox.cork();
  ASSERT_EQ(outbox.send(near(), record, {&one, 1}, nullptr), TcpOutbox::Outcome::kWaits);
  EXPECT_FALSE(outbox.ripe());
  record.bytes = static_cast<std::uint32_t>(longer.size());
  ASSERT_EQ(outbox.send(near(), record, {&all, 1}, nullptr), TcpOutbox::Outcome::kWaits);
  EXPECT_TRUE(outbox.ripe());
  outbox.flush(near(), &finished);
  EXPECT_FALSE(outbox.ripe()) << "the socket is full";
}

// So many short records as the depth has, each in a place of its own or many in one, are all that
// an outbox copies: its memory is bounded.
TEST_F(TcpOutboxTest, CopiesOfMoreThanABatchAreInAnotherPlace) {
  for (const std::size_t size :
       {TcpOutbox::kCopyBytes, TcpOutbox::kCopyBytes - TcpRecord::kFixedBytes}) {
    TcpOutbox outbox;
    Bytes bytes(size, std::byte{1});
    const Segment segment{bytes.data(), bytes.size()};
    TcpRecord record;
    record.bytes = static_cast<std::uint32_t>(bytes.size());
    outbox.cork();  // nothing is written
    const std::size_t in_a_batch = TcpOutbox::kBatchBytes / record.all_bytes();
    std::size_t taken = 0;
    while (outbox.send(near(), record, {&segment, 1}, nullptr) == TcpOutbox::Outcome::kWaits &&
           taken < 1000000) {
      ++taken;
    }
    EXPECT_EQ(taken, TcpOutbox::kDepth * in_a_batch) << size;
  }
}

TEST_F(TcpOutboxTest, ASocketThatTakesNothingIsTriedRarely) {
  TcpOutbox outbox;
  std::vector<TcpOutbox::Finished> finished;
  Bytes bytes(100000);
  const Segment segment{bytes.data(), bytes.size()};
  TcpRecord record;
  record.bytes = static_cast<std::uint32_t>(bytes.size());
  ASSERT_EQ(outbox.send(near(), record, {&segment, 1}, nullptr), TcpOutbox::Outcome::kWaits);
  EXPECT_FALSE(outbox.ripe()) << "it is full";
  const auto attempts = [&](int turns) {
    int count = 0;
    for (int i = 0; i < turns; ++i) {
      if (!outbox.due()) continue;
      ++count;
      EXPECT_FALSE(outbox.flush(near(), &finished));
    }
    return count;
  };
  EXPECT_EQ(attempts(1 + 1 + 3), 2) << "at once, and after one turn";
  EXPECT_EQ(attempts(800), 100);
  outbox.hurry();
  EXPECT_EQ(attempts(1), 1);
  read(bytes.size());
  outbox.hurry();
  EXPECT_TRUE(outbox.flush(near(), &finished));
  EXPECT_TRUE(outbox.due()) << "it took something";
}

TEST_F(TcpOutboxTest, NothingWaitsForASocketThatIsFoundBroken) {
  close(std::exchange(pair_[1], -1));
  TcpOutbox outbox;
  Bytes bytes(1000);
  for (const std::size_t size : {std::size_t{1}, bytes.size()}) {
    const Segment segment{bytes.data(), size};
    TcpRecord record;
    record.bytes = static_cast<std::uint32_t>(size);
    EXPECT_EQ(outbox.send(near(), record, {&segment, 1}, nullptr), TcpOutbox::Outcome::kBroken);
    EXPECT_TRUE(outbox.empty());
  }
}

TEST_F(TcpOutboxTest, ABrokenSocketIsToldAndWhatWaitsIsGivenBack) {
  TcpOutbox outbox;
  Bytes bytes(100000, std::byte{1});
  const Segment segment{bytes.data(), bytes.size()};
  TcpRecord record;
  record.bytes = static_cast<std::uint32_t>(bytes.size());
  int context = 0;
  const TcpOutbox::Finished tell{Completion::Kind::kWritten, &context};
  ASSERT_EQ(outbox.send(near(), record, {&segment, 1}, &tell), TcpOutbox::Outcome::kWaits);
  close(std::exchange(pair_[1], -1));
  std::vector<TcpOutbox::Finished> finished;
  outbox.flush(near(), &finished);
  EXPECT_TRUE(finished.empty());
  EXPECT_EQ(outbox.send(near(), record, {&segment, 1}, nullptr), TcpOutbox::Outcome::kBroken);
  outbox.drop_all(&finished);
  ASSERT_EQ(finished.size(), 1u);
  EXPECT_EQ(finished[0].context, &context);
  EXPECT_EQ(finished[0].kind, Completion::Kind::kWritten);
}

}  // namespace
}  // namespace mad
