// Duel: two messengers over drivers that misbehave, each sending random messages and answering the
// other's at once, later or not at all; everything from one seed.  The drivers below are those of a
// loopback network as narrow as the seed makes it, or of a fabric of this host, as it is.
#ifndef TESTS_FAULT_DUEL_H_
#define TESTS_FAULT_DUEL_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "madlike/driver/loopback/loopback.h"
#include "madlike/message/messenger.h"
#include "netmod/abi/fabric.h"
#include "tests/fault/faulty_driver.h"

namespace mad::test {

using Bytes = std::vector<std::byte>;
using Random = std::mt19937_64;

inline constexpr int kMaxRounds = 400000;
inline constexpr std::uint32_t kMessages = 120;  // per direction

inline std::size_t up_to(Random& random, std::size_t most) { return random() % (most + 1); }
inline bool chance(Random& random, unsigned percent) { return random() % 100 < percent; }

inline std::byte byte_at(std::uint32_t message, std::uint64_t offset) {
  return static_cast<std::byte>((message * 131 + offset * 7 + offset / 251) & 0xFF);
}

// Stages and references in turns, as a scattered layout would.
class RandomSource final : public PayloadSource {
 public:
  RandomSource(Bytes bytes, std::uint64_t seed) : bytes_(std::move(bytes)), random_(seed) {}

  const void* run() const { return bytes_.data(); }
  void fill(Packet& packet, std::uint64_t limit) override {
    ASSERT_LE(done_ + limit, bytes_.size()) << "asked for more than the payload has";
    const std::uint64_t end = done_ + limit;
    while (done_ < end) {
      const std::size_t want = 1 + up_to(random_, std::min<std::size_t>(end - done_ - 1, 20000));
      std::size_t taken = 0;
      const Segment room = packet.staging_room();
      if (packet.can_reference() && (room.size == 0 || chance(random_, 40))) {
        taken = packet.reference({bytes_.data() + done_, want});
      } else {
        taken = std::min(want, room.size);
        if (taken > 0) std::memcpy(room.data, bytes_.data() + done_, taken);
        packet.stage(taken);
      }
      if (taken == 0) return;
      done_ += taken;
    }
  }

 private:
  Bytes bytes_;
  Random random_;
  std::uint64_t done_ = 0;
};

struct Sending : OutgoingMessage {
  std::unique_ptr<RandomSource> payload;
  int ended = 0;
  Status status;
};

class Receiving final : public PayloadSink {
 public:
  Receiving(std::uint32_t message, std::uint64_t accepted, bool one_run)
      : message(message), accepted(accepted), one_run_(one_run) {
    bytes_.assign(static_cast<std::size_t>(accepted) + kGuard, std::byte{0xEE});
  }

  void place(std::uint64_t offset, Segment bytes) override {
    ASSERT_LE(offset + bytes.size, accepted) << "a fragment beyond what was accepted";
    std::memcpy(bytes_.data() + offset, bytes.data, bytes.size);
  }
  std::size_t runs(std::uint64_t offset, std::uint64_t size, Segment* out, std::size_t) override {
    if (!one_run_) return 0;
    *out = {bytes_.data() + offset, static_cast<std::size_t>(size)};
    return 1;
  }
  bool right() const {
    for (std::uint64_t i = 0; i < accepted; ++i) {
      if (bytes_[i] != byte_at(message, i)) return false;
    }
    return std::all_of(bytes_.end() - kGuard, bytes_.end(),
                       [](std::byte byte) { return byte == std::byte{0xEE}; });
  }

  const std::uint32_t message;
  const std::uint64_t accepted;
  int ended = 0;
  Status status;

 private:
  static constexpr int kGuard = 16;
  Bytes bytes_;
  bool one_run_;
};

// One side: sends kMessages random messages, answers what arrives at once, later or not at all.
class Side final : public MessageEvents {
 public:
  Side(std::uint64_t seed, const MessengerConfig& config, std::unique_ptr<FaultyDriver> driver)
      : random_(seed), faulty_(driver.get()) {
    std::vector<std::unique_ptr<Driver>> drivers;
    drivers.push_back(std::move(driver));
    messenger_ = std::make_unique<Messenger>(config, *this, std::move(drivers));
  }

  const std::vector<std::byte>& address() const { return faulty_->address(); }
  const MessageCounters& counters() const { return messenger_->counters(); }
  const FaultCounts& faults() const { return faulty_->counts(); }
  Messenger& messenger() { return *messenger_; }
  bool alive() const { return gone_ == 0; }
  int gone() const { return gone_; }
  StatusCode gone_why() const { return gone_why_; }

  void open(const Side& other) { peer_ = messenger_->connect({{0, other.address()}}).value(); }

  // Sends a little, answers a little, progresses.
  void step() {
    if (sent_ < kMessages && alive() && !send_failed_ && chance(random_, 40)) send_one();
    if (!unanswered_.empty() && chance(random_, 30)) {
      const std::size_t chosen = up_to(random_, unanswered_.size() - 1);
      const Arrival arrival = unanswered_[chosen];
      unanswered_.erase(unanswered_.begin() + static_cast<std::ptrdiff_t>(chosen));
      answer(arrival);
    }
    messenger_->progress();
  }

  bool sent_everything() const { return sent_ == kMessages; }
  bool settled() const {
    return unanswered_.empty() &&
           std::all_of(sendings_.begin(), sendings_.end(), [](auto& s) { return s->ended > 0; }) &&
           std::all_of(receivings_.begin(), receivings_.end(),
                       [](auto& r) { return r->ended > 0; });
  }
  std::uint32_t headers_seen() const { return next_header_; }
  std::uint32_t messages_sent() const { return sent_; }

  // Of the messages of this side's peer, those in `damaged` were received as kCorrupt and no other;
  // all but those and the ones in `unseen` are right.
  void check_sums(const std::set<std::uint32_t>& damaged,
                  const std::set<std::uint32_t>& unseen = {}) const {
    for (const auto& receiving : receivings_) {
      const bool corrupt = damaged.count(receiving->message) != 0;
      const bool wrong = corrupt || unseen.count(receiving->message) != 0;
      EXPECT_EQ(receiving->status.code(), corrupt ? StatusCode::kCorrupt : StatusCode::kOk)
          << "message " << receiving->message << ": " << receiving->status.message();
      EXPECT_TRUE(wrong || receiving->right()) << "message " << receiving->message;
    }
  }
  // Every operation ended once; `whole`: and well.
  void check(bool whole) const {
    for (const auto& sending : sendings_) {
      EXPECT_EQ(sending->ended, 1);
      EXPECT_TRUE(!whole || sending->status.ok()) << sending->status.message();
    }
    for (const auto& receiving : receivings_) {
      EXPECT_EQ(receiving->ended, 1);
      EXPECT_TRUE(!whole || receiving->status.ok()) << receiving->status.message();
      if (receiving->status.ok()) {
        EXPECT_TRUE(receiving->right()) << "message " << receiving->message;
      }
    }
  }

 private:
  struct Arrival {
    std::uint32_t number;
    std::uint64_t payload_bytes;
    IncomingMessage* message;
  };

  void send_one() {
    const std::uint32_t number = sent_++;
    Bytes header(8 + up_to(random_, std::min<std::size_t>(messenger_->max_header_bytes() - 8, 40)));
    std::memcpy(header.data(), &number, sizeof(number));
    for (std::size_t i = 8; i < header.size(); ++i) header[i] = byte_at(number, i);
    const std::size_t most = std::size_t{1} << up_to(random_, 18);
    const std::size_t size = chance(random_, 20) ? 0 : 1 + up_to(random_, most);
    const Segment head{header.data(), header.size()};
    if (size == 0) {
      const Status status = messenger_->send_header(*peer_, 1, head);
      send_failed_ = status.error();
      EXPECT_FALSE(status.again());
      return;
    }
    Bytes bytes(size);
    for (std::size_t i = 0; i < size; ++i) bytes[i] = byte_at(number, i);
    auto sending = std::make_unique<Sending>();
    sending->payload = std::make_unique<RandomSource>(std::move(bytes), random_());
    sending->source = sending->payload.get();
    sending->payload_bytes = size;
    sending->run = sending->payload->run();
    sending->flush_bytes = chance(random_, 30) ? 1 + up_to(random_, 10000) : 0;
    Sending& reference = *sending;
    sendings_.push_back(std::move(sending));
    const Status status = messenger_->send(*peer_, 2, head, reference);
    EXPECT_FALSE(status.again());
    if (!status.in_progress()) {
      ++reference.ended;
      reference.status = status;
      send_failed_ = status.error();
    }
  }

  void answer(const Arrival& arrival) {
    if (chance(random_, 10)) return messenger_->discard(*arrival.message);
    const std::uint64_t accepted =
        chance(random_, 80) ? arrival.payload_bytes : up_to(random_, arrival.payload_bytes);
    receivings_.push_back(
        std::make_unique<Receiving>(arrival.number, accepted, chance(random_, 60)));
    Receiving& receiving = *receivings_.back();
    const Status status = messenger_->accept(*arrival.message, receiving, accepted, &receiving);
    if (status.in_progress()) return;
    ++receiving.ended;
    receiving.status = status;
  }

  void on_message(Endpoint& from, std::uint8_t handler, Segment header, std::uint64_t payload_bytes,
                  IncomingMessage* message) override {
    EXPECT_EQ(&from, peer_);
    EXPECT_EQ(gone_, 0) << "a message after the end of its peer";
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(header.data) % 8, 0u);
    EXPECT_EQ(message != nullptr, payload_bytes > 0);
    EXPECT_EQ(handler, payload_bytes > 0 ? 2 : 1);
    std::uint32_t number = ~0u;
    ASSERT_GE(header.size, 8u);
    std::memcpy(&number, header.data, sizeof(number));
    EXPECT_EQ(number, next_header_) << "order";
    next_header_ = number + 1;
    for (std::size_t i = 8; i < header.size; ++i) {
      ASSERT_EQ(header.begin()[i], byte_at(number, i)) << "header byte";
    }
    if (message == nullptr) return;
    const Arrival arrival{number, payload_bytes, message};
    if (chance(random_, 50)) {
      answer(arrival);
    } else {
      unanswered_.push_back(arrival);
    }
  }
  void on_sent(OutgoingMessage& message, const Status& status) override {
    auto& sending = static_cast<Sending&>(message);
    ++sending.ended;
    sending.status = status;
  }
  void on_received(void* context, std::uint64_t bytes, const Status& status) override {
    auto& receiving = *static_cast<Receiving*>(context);
    ++receiving.ended;
    receiving.status = status;
    if (status.ok()) {
      EXPECT_EQ(bytes, receiving.accepted);
    }
  }
  void on_peer_gone(Endpoint& peer, const Status& status) override {
    EXPECT_EQ(&peer, peer_);
    ++gone_;
    gone_why_ = status.code();
    messenger_->release(peer);  // what arrived of it is still answered
  }

  Random random_;
  FaultyDriver* faulty_;
  Endpoint* peer_ = nullptr;
  std::uint32_t sent_ = 0;
  std::uint32_t next_header_ = 0;
  bool send_failed_ = false;
  int gone_ = 0;
  StatusCode gone_why_ = StatusCode::kOk;
  std::vector<std::unique_ptr<Sending>> sendings_;
  std::vector<std::unique_ptr<Receiving>> receivings_;
  std::vector<Arrival> unanswered_;
  std::unique_ptr<Messenger> messenger_;  // first to go
};

inline LoopbackOptions random_fabric(Random& random) {
  LoopbackOptions options;
  options.max_iov = 1 + up_to(random, 15);
  options.max_packet_bytes = std::size_t{256} << up_to(random, 8);
  options.inject_bytes = up_to(random, 256);
  options.queue_depth = 1 + up_to(random, 63);
  options.remote_write = chance(random, 60);
  options.max_write_iov = 1 + up_to(random, 15);
  options.max_write_bytes = std::size_t{4096} << up_to(random, 6);
  if (chance(random, 30)) options.most_offered = up_to(random, 200000);
  options.weighs_offers = options.most_offered > 0 && options.most_offered % 2 == 0;
  if (chance(random, 50)) options.piece_bytes = 256 + up_to(random, options.max_packet_bytes / 2);
  return options;
}

/// Lends memory in pieces as short as the seed makes them.
inline LoopbackOptions random_lender(Random& random) {
  LoopbackOptions options = random_fabric(random);
  options.piece_bytes = 0;
  options.lent_bytes = 128 + up_to(random, options.max_packet_bytes - 128);
  return options;
}

inline MessengerConfig random_config(Random& random) {
  MessengerConfig config;
  if (chance(random, 80)) config.eager_limit = up_to(random, 64 * 1024);
  config.peer_credit = up_to(random, 128 * 1024);
  config.packet_bytes = std::size_t{1024} << up_to(random, 6);
  config.staging_bytes = config.packet_bytes * (4 + up_to(random, 60));
  config.write_threshold = up_to(random, 20000);
  return config;
}

inline FaultPlan random_faults(Random& random) {
  FaultPlan plan;
  plan.seed = random();
  plan.refuse_post = static_cast<unsigned>(up_to(random, 400));
  plan.delay = static_cast<unsigned>(up_to(random, 600));
  plan.max_delay = static_cast<unsigned>(1 + up_to(random, 12));
  plan.short_poll = static_cast<unsigned>(up_to(random, 500));
  plan.refuse_expose = chance(random, 50) ? static_cast<unsigned>(up_to(random, 500)) : 0;
  plan.reorder = chance(random, 80);
  return plan;
}

struct Duelist {
  MessengerConfig config;
  FaultPlan plan;
};

// Two sides made from one seed; `change` may make them worse.
class Duel {
 public:
  template <typename Change>
  Duel(const std::string& fabric, std::uint64_t seed, Change change) : random_(seed) {
    const bool lends = fabric == "lending";
    auto network =
        std::make_shared<LoopbackNetwork>(lends ? random_lender(random_) : random_fabric(random_));
    const auto open = [&]() -> std::unique_ptr<Driver> {
      if (lends || fabric == "loopback") return std::make_unique<LoopbackDriver>(network);
      return std::move(*open_fabric(fabric, {"lo"}));
    };
    Duelist first, second;
    first.config = random_config(random_);
    second.config = random_config(random_);
    first.plan = random_faults(random_);
    second.plan = random_faults(random_);
    change(random_, first, second);
    a = std::make_unique<Side>(random_(), first.config,
                               std::make_unique<FaultyDriver>(open(), first.plan));
    b = std::make_unique<Side>(random_(), second.config,
                               std::make_unique<FaultyDriver>(open(), second.plan));
    a->open(*b);
    b->open(*a);
  }

  template <typename Done>
  bool run_until(Done done) {
    for (int round = 0; round < kMaxRounds; ++round) {
      if (done()) return true;
      a->step();
      b->step();
    }
    return false;
  }

  std::unique_ptr<Side> a;
  std::unique_ptr<Side> b;

 private:
  Random random_;
};

inline std::vector<std::uint64_t> seeds(std::uint64_t count) {
  if (const char* chosen = std::getenv("MAD_TEST_SEED")) {
    return {std::strtoull(chosen, nullptr, 10)};
  }
  if (const char* more = std::getenv("MAD_TEST_SEEDS")) count = std::strtoull(more, nullptr, 10);
  std::vector<std::uint64_t> out;
  for (std::uint64_t seed = 1; seed <= count; ++seed) out.push_back(seed);
  return out;
}

}  // namespace mad::test

#endif  // TESTS_FAULT_DUEL_H_
