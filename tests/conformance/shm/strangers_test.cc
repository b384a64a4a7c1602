// Who may not come in, who lies once inside, and how much memory there is.
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <random>
#include <string>

#include "madlike/driver/door/handshake.h"
#include "tests/conformance/shm/engine.h"

namespace mad {
namespace {

struct Met {
  Met() {
    to_b = a.connect(b);
    EXPECT_TRUE(pump({&a, &b}, [&] {
      return a.station.connected.count(to_b) == 1 && b.station.connected.size() == 1;
    }));
    to_a = b.connect(a);
  }
  ShmEngine a, b;
  ConnectionId to_b = 0, to_a = 0;
};

std::vector<std::byte> address_of(pid_t pid, const DoorSecret& secret) {
  return ShmAddress{static_cast<std::uint32_t>(pid), secret}.bytes();
}

Status end_of(ShmEngine& engine, ConnectionId id, const std::vector<ShmEngine*>& all) {
  EXPECT_TRUE(pump(all, [&] { return engine.station.disconnected.count(id) == 1; }));
  return engine.station.disconnected[id];
}

TEST(ShmStrangers, WithoutTheSecretNobodyIsThere) {
  ShmEngine a, b;
  const ConnectionId id = a.connect(address_of(getpid(), random_secret()));
  EXPECT_EQ(end_of(a, id, {&a, &b}).code(), StatusCode::kUnreachable);
  EXPECT_TRUE(b.station.connected.empty());
}

TEST(ShmStrangers, NorWithoutTheProcess) {
  ShmEngine a;
  const ConnectionId id = a.connect(address_of(0x3fffffff, random_secret()));
  const Status why = end_of(a, id, {&a});
  EXPECT_EQ(why.code(), StatusCode::kUnreachable);
  EXPECT_NE(why.message().find("process"), std::string_view::npos) << why.message();
}

TEST(ShmStrangers, AnEngineDoesNotConnectToItself) {
  ShmEngine a;
  const auto& own = a.driver->address();
  EXPECT_EQ(a.driver->connect(own.data(), own.size()).status().code(),
            StatusCode::kInvalidArgument);
}

TEST(ShmStrangers, LettersOfNobodyAreNotRead) {
  Met met;
  DoorSecret secret;
  std::memcpy(secret.data(), met.a.driver->address().data() + 8, secret.size());
  const ShmSocketName name(secret, ShmSocketName::Of::kLetters);
  std::mt19937 random(4711);
  for (int i = 0; i < 200; ++i) {
    std::array<std::byte, 200> letter;
    for (std::byte& byte : letter) byte = static_cast<std::byte>(random());
    (void)ShmPostbox::send(name, letter.data(), 1 + random() % letter.size(),
                           random() % 2 == 0 ? 0 : -1);
  }
  // And of one who knows the secret, but has no memory that is safe.
  ShmGreeting greeting;
  greeting.sender = {static_cast<std::uint32_t>(getpid()), random_secret()};
  greeting.session = 1;
  greeting.place_bytes = kShmPlaceBytes;
  greeting.piece_bytes = kShmPieceBytes;
  for (const int file : {-1, 0, 2}) {
    const auto letter = greeting.seal(secret);
    EXPECT_TRUE(ShmPostbox::send(name, letter.data(), letter.size(), file).ok());
  }
  greeting.sender.pid = 1;
  const auto letter = greeting.seal(secret);
  EXPECT_TRUE(ShmPostbox::send(name, letter.data(), letter.size()).ok());
  Bytes bytes(100, std::byte{1});
  ASSERT_FALSE(send(met.b, met.to_a, bytes, {&met.a, &met.b}).error());
  ASSERT_TRUE(pump({&met.a, &met.b}, [&] { return met.a.station.received.size() == 1; }));
  for (int i = 0; i < 20000; ++i) met.a.station.poll();
  EXPECT_EQ(met.a.station.connected.size(), 1u);
  EXPECT_TRUE(met.a.station.disconnected.empty());
}

/// Runs `prepare` in a child, which then opens an engine and connects to `a`; how its connection
/// ended, if `prepare` was allowed.
std::optional<StatusCode> end_of_child(ShmEngine& a, const std::function<bool()>& prepare,
                                       bool forks) {
  int pipes[2];
  EXPECT_EQ(pipe(pipes), 0);
  const auto address = a.driver->address();
  const pid_t child = fork();
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (!prepare()) _exit(1);
    if (forks) {
      const pid_t inner = fork();
      if (inner > 0) {
        int status = 0;
        waitpid(inner, &status, 0);
        _exit(WEXITSTATUS(status));
      }
    }
    auto opened = open_shm({});
    if (!opened.ok()) _exit(2);
    const auto id = (*opened)->connect(address.data(), address.size());
    if (!id.ok()) _exit(3);
    const auto deadline = Clock::now() + milliseconds(10000);
    while (Clock::now() < deadline) {
      Completion news;
      if ((*opened)->poll(&news, 1) == 0) continue;
      if (news.kind != Completion::Kind::kDisconnected) _exit(4);
      const int code = static_cast<int>(news.status.code());
      (void)!write(pipes[1], &code, sizeof(code));
      _exit(0);
    }
    _exit(5);
  }
  int status = 0;
  EXPECT_TRUE(pump({&a}, [&] { return waitpid(child, &status, WNOHANG) == child; }));
  close(pipes[1]);
  int code = 0;
  const bool told = read(pipes[0], &code, sizeof(code)) == sizeof(code);
  close(pipes[0]);
  if (WIFEXITED(status) && WEXITSTATUS(status) == 1) return std::nullopt;
  EXPECT_TRUE(told) << status;
  return static_cast<StatusCode>(code);
}

TEST(ShmContainers, AnotherUserIsFoundOut) {
  ShmEngine a;
  const auto end = end_of_child(
      a, [] { return setgid(65534) == 0 && setuid(65534) == 0; }, false);
  if (!end) GTEST_SKIP() << "may not become another user here";
  EXPECT_EQ(*end, StatusCode::kUnreachable);
  EXPECT_TRUE(a.station.connected.empty());
}

TEST(ShmContainers, OtherProcessIdsAreFoundOut) {
  ShmEngine a;
  const auto end = end_of_child(
      a, [] { return unshare(CLONE_NEWPID) == 0; }, true);
  if (!end) GTEST_SKIP() << "may not have other process ids here";
  EXPECT_EQ(*end, StatusCode::kUnreachable);
  EXPECT_TRUE(a.station.connected.empty());
}

TEST(ShmContainers, AnotherNetworkIsFoundOut) {
  ShmEngine a;
  const auto end = end_of_child(
      a, [] { return unshare(CLONE_NEWNET) == 0; }, false);
  if (!end) GTEST_SKIP() << "may not have another network here";
  EXPECT_EQ(*end, StatusCode::kUnreachable);
  EXPECT_TRUE(a.station.connected.empty());
}

// Words of the other side's, whatever they are: only that connection ends, or none.
TEST(ShmLiars, NoWordOfTheirsLeadsOutOfTheMemory) {
  std::mt19937_64 random(4711);
  ShmEngine a;
  std::size_t ended = 0;
  for (int round = 0; round < 150; ++round) {
    auto liar = std::make_unique<ShmEngine>();
    const ConnectionId to_a = liar->connect(a), to_liar = a.connect(*liar);
    ASSERT_TRUE(pump({&a, liar.get()}, [&] {
      return a.station.connected.count(to_liar) == 1 && liar->station.connected.count(to_a) == 1;
    }));
    ShmConnection& ours = *liar->shm().connection(to_a);
    ShmLaneHead& lane = ours.out->memory().head();
    auto* const ring = reinterpret_cast<std::byte*>(&lane) + kShmLaneHeadBytes;
    for (int i = 0; i < 40; ++i) {
      const std::uint64_t word = random() >> random() % 64;
      switch (random() % 4) {
        case 0: {  // a record
          std::memcpy(ring + random() % 128 * RingShape::kLine, &word, sizeof(word));
          break;
        }
        case 1:  // how far it has read
          ours.in->memory().store_tail(word);
          break;
        case 2:
          lane.state.store(static_cast<std::uint32_t>(word), std::memory_order_relaxed);
          break;
        default:
          ours.mapped->front().bells[random() % kShmMostPlaces].store(1);
          ours.mapped->front().news.store(1);
          break;
      }
      ring_other_side(ours.out->memory());
      Bytes bytes(1 + random() % kShmPieceBytes, std::byte{1});
      const Segment segment{bytes.data(), bytes.size()};
      (void)a.driver->post_send(to_liar, {&segment, 1}, nullptr);
      std::array<Completion, 16> news;
      const std::size_t count = a.driver->poll(news.data(), news.size());
      for (std::size_t each = 0; each < count; ++each) {
        if (news[each].kind == Completion::Kind::kDisconnected) ++ended;
        unsigned sum = 0;
        for (std::size_t at = 0; at < news[each].bytes.size; ++at) {
          sum += std::to_integer<unsigned>(news[each].bytes.begin()[at]);
        }
        EXPECT_LT(sum, ~0u);
        if (news[each].buffer != nullptr) a.driver->release(news[each].buffer);
      }
    }
    a.driver->disconnect(to_liar);
    a.station.poll();
  }
  EXPECT_GT(ended, 10u);
  ShmEngine honest;
  const ConnectionId to_a = honest.connect(a);
  Bytes bytes(100, std::byte{1});
  ASSERT_FALSE(send(honest, to_a, bytes, {&a, &honest}).error());
  a.station.received.clear();
  EXPECT_TRUE(pump({&a, &honest}, [&] { return !a.station.received.empty(); }));
}

/// Writes letters by hand, as who knows the secret of an engine can, and reads the answers.
class Correspondent {
 public:
  explicit Correspondent(const ShmEngine& other) : name_(secret_of(other), Of::kLetters) {
    EXPECT_TRUE(box_.ok()) << box_.status().message();
    to_send.sender = {static_cast<std::uint32_t>(getpid()), own_};
    to_send.session = 7;
    to_send.place_bytes = kShmPlaceBytes;
    to_send.piece_bytes = kShmPieceBytes;
  }
  std::vector<std::byte> address() const { return address_of(getpid(), own_); }
  void send(int file = -1) {
    const auto letter = to_send.seal(secret_);
    EXPECT_TRUE(ShmPostbox::send(name_, letter.data(), letter.size(), file).ok());
  }
  std::optional<ShmGreeting> answer(ShmEngine& engine) {
    ShmPostbox::Letter letter;
    if (!pump({&engine}, [&] { return box_->receive(&letter); })) return std::nullopt;
    return ShmGreeting::open(letter.bytes.data(), letter.size, own_);
  }
  ShmGreeting to_send;

 private:
  using Of = ShmSocketName::Of;
  DoorSecret secret_of(const ShmEngine& engine) {
    std::memcpy(secret_.data(), engine.driver->address().data() + 8, secret_.size());
    return secret_;
  }
  DoorSecret own_ = random_secret(), secret_;
  ShmSocketName name_;
  Result<ShmPostbox> box_ = ShmPostbox::open(own_);
};

TEST(ShmLiars, WhoIsNotWhatItSaysIsRefused) {
  using Reason = ShmGreeting::Reason;
  const auto reason_for = [](const std::function<void(ShmGreeting&)>& lie, int file) {
    ShmEngine a;
    Correspondent liar(a);
    lie(liar.to_send);
    liar.send(file);
    const auto answer = liar.answer(a);
    EXPECT_TRUE(a.station.connected.empty());
    if (!answer || answer->kind != ShmGreeting::Kind::kRefuse) return Reason::kNone;
    EXPECT_EQ(answer->session, liar.to_send.session);
    return answer->reason;
  };
  constexpr int kStdin = 0;  // a file, and no segment
  for (const unsigned off : {-1, 1}) {
    EXPECT_EQ(reason_for([&](ShmGreeting& g) { g.sender.pid += off; }, kStdin), Reason::kOtherPids);
    EXPECT_EQ(reason_for([&](ShmGreeting& g) { g.place_bytes += off; }, kStdin),
              Reason::kOtherLayout);
    EXPECT_EQ(reason_for([&](ShmGreeting& g) { g.piece_bytes += off; }, kStdin),
              Reason::kOtherLayout);
  }
  EXPECT_EQ(reason_for([](ShmGreeting&) {}, -1), Reason::kLacksMemory);
  EXPECT_EQ(reason_for([](ShmGreeting&) {}, kStdin), Reason::kBadMemory);
}

// A refusal of an earlier connection arrives late.
TEST(ShmLiars, ARefusalIsOfOneConnection) {
  ShmEngine a;
  Correspondent other(a);
  const ConnectionId id = a.connect(other.address());
  const auto asked = other.answer(a);
  ASSERT_TRUE(asked && asked->kind == ShmGreeting::Kind::kMeet);
  other.to_send.kind = ShmGreeting::Kind::kRefuse;
  other.to_send.reason = ShmGreeting::Reason::kOtherUser;
  for (const std::uint64_t session : {asked->session - 1, asked->session + 1}) {
    other.to_send.session = session;
    other.send();
    for (int i = 0; i < 2000; ++i) a.station.poll();
    ASSERT_TRUE(a.station.disconnected.empty());
  }
  other.to_send.session = asked->session;
  other.send();
  EXPECT_EQ(end_of(a, id, {&a}).code(), StatusCode::kUnreachable);
}

TEST(ShmMemoryLimit, ThePeerThatThereIsNoRoomForIsNotConnected) {
  ShmOptions little;
  little.memory_limit = 100 * 1024;
  ShmEngine a(little), b, c, d;
  const std::vector<ShmEngine*> all{&a, &b, &c, &d};
  const ConnectionId to_b = a.connect(b), to_c = a.connect(c), to_d = a.connect(d);
  const Status why = end_of(a, to_d, all);
  EXPECT_EQ(why.code(), StatusCode::kNoMemory);
  EXPECT_NE(why.message().find("MAD_SHM_LIMIT"), std::string_view::npos) << why.message();
  EXPECT_TRUE(pump(
      all, [&] { return a.station.connected.count(to_b) + a.station.connected.count(to_c) == 2; }));
  // Who calls it hears that it may pass, and it passes.
  const ConnectionId d_to_a = d.connect(a);
  EXPECT_EQ(end_of(d, d_to_a, all).code(), StatusCode::kAgain);
  a.driver->disconnect(to_b);
  const ConnectionId later = d.connect(a);
  EXPECT_TRUE(pump(all, [&] { return d.station.connected.count(later) == 1; }));
}

TEST(ShmMemoryLimit, LanesGrowWithTrafficAndShrinkAgain) {
  Met met;
  const std::size_t small = met.a.shm().charged();
  Bytes bytes(kShmPieceBytes, std::byte{1});
  const Segment segment{bytes.data(), bytes.size()};
  while (met.a.driver->post_send(met.to_b, {&segment, 1}, nullptr).ok()) {
  }
  EXPECT_GT(met.a.shm().charged(), small);
  ASSERT_TRUE(pump({&met.a, &met.b}, [&] { return met.a.shm().charged() == small; }));
  met.b.station.received.clear();
  ASSERT_FALSE(send(met.a, met.to_b, bytes, {&met.a, &met.b}).error());
  EXPECT_TRUE(pump({&met.a, &met.b}, [&] { return met.b.station.received.size() == 1; }));
  EXPECT_EQ(met.b.station.received[0].bytes, bytes);
}

// Its sender may not use the memory for anything else before it is released.
TEST(ShmEnds, AReceivedPacketStaysAsItIs) {
  Met met;
  Bytes bytes = pattern(1000, 7);
  const Segment segment{bytes.data(), bytes.size()};
  ASSERT_TRUE(met.a.driver->post_send(met.to_b, {&segment, 1}, nullptr).ok());
  Completion kept;
  while (met.b.driver->poll(&kept, 1) == 0) {
  }
  ASSERT_EQ(kept.kind, Completion::Kind::kReceived);
  met.a.driver->disconnect(met.to_b);
  const auto end = end_of(met.b, met.to_a, {&met.a, &met.b});
  EXPECT_EQ(end.code(), StatusCode::kClosed);
  met.b.driver->disconnect(met.to_a);
  const std::byte* const content = kept.bytes.begin();
  const auto until = Clock::now() + milliseconds(30);
  ASSERT_TRUE(pump({&met.a, &met.b}, [&] { return Clock::now() > until; }));
  EXPECT_TRUE(std::equal(bytes.begin(), bytes.end(), content));
  met.b.driver->release(kept.buffer);
  EXPECT_TRUE(pump({&met.a, &met.b}, [&] { return met.b.shm().connection(met.to_a) == nullptr; }));
}

TEST(ShmEnds, WhoLeavesMayComeBackAtOnce) {
  ShmEngine a, b;
  const std::vector<ShmEngine*> all{&a, &b};
  for (std::size_t round = 0; round < 100; ++round) {
    const ConnectionId to = a.connect(b);
    Bytes bytes(100 + round, std::byte{1});
    b.station.received.clear();
    ASSERT_FALSE(send(a, to, bytes, all).error());
    if (round % 3 != 0) a.driver->disconnect(to);  // before it is received
    ASSERT_TRUE(pump(all, [&] { return b.station.received.size() == 1; })) << round;
    EXPECT_EQ(b.station.received[0].bytes, bytes);
    if (round % 3 != 0) continue;  // and back before b has noticed
    b.driver->disconnect(b.station.received[0].connection);
    ASSERT_TRUE(pump(all, [&] { return a.station.disconnected.count(to) == 1; }));
    EXPECT_EQ(a.station.disconnected[to].code(), StatusCode::kClosed);
    a.driver->disconnect(to);
  }
  EXPECT_LE(a.shm().charged(), 2 * (kShmPieceLimit + kShmLaneHeadBytes));
}

}  // namespace
}  // namespace mad
