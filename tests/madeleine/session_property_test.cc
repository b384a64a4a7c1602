// Random Madeleine messages through mad.h against the literal type map: pieces of every size and
// mode, described data on either side, both directions, any chunk size.
//
// A failing case names its seed; MAD_TEST_SEED=n runs that one alone, MAD_TEST_SEEDS=n the first n.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "netmod/abi/mad.h"
#include "netmod/abi/types.h"
#include "tests/support/random_type.h"
#include "tests/support/type_map.h"

namespace mad::test {
namespace {

using Bytes = std::vector<std::byte>;

constexpr int kLong = 20000;  // milliseconds; nothing takes that long
constexpr std::byte kUntouched{0xEE};

// One piece of a message: the truth, the memory of both sides and the modes.
class Piece {
 public:
  explicit Piece(RandomTypes& random)
      : send_mode_(static_cast<mad_send_mode>(random.between(0, 2))),
        receive_mode_(static_cast<mad_recv_mode>(random.between(0, 1))) {
    if (random.between(0, 2) == 0) {
      describe(random);
    } else {
      size_ = random_size(random);
    }
    if (!type_) map_ = {{0, size_}};
    sent_.emplace(map_);
    for (std::byte& b : sent_->bytes()) b = static_cast<std::byte>(random.between(0, 255));
    truth_ = test::pack(map_, *sent_);
    kept_ = sent_->bytes();
    const bool whole = receivable(map_);
    by_layout_ = type_ && (!whole || random.between(0, 1) == 0);
    to_layout_ = type_ && whole && (!by_layout_ || random.between(0, 1) == 0);
    sends_row_ = type_ && !by_layout_;
    got_.emplace(to_layout_ ? map_ : TypeMap{{0, truth_.size()}}, kUntouched);
  }

  int pack(mad_packing* message) {
    if (send_mode_ == MAD_SEND_LATER) scribble();
    const int status =
        by_layout_ ? mad_pack_layout(message, sent_->base(), count_, type_.get(), send_mode_,
                                     receive_mode_)
                   : mad_pack(message, row().data(), row().size(), send_mode_, receive_mode_);
    if (send_mode_ == MAD_SEND_SAFER) scribble();
    return status;
  }
  // What a LATER piece holds is known only now.
  void settle() {
    if (send_mode_ != MAD_SEND_LATER) return;
    std::copy(kept_.begin(), kept_.end(), sent_->bytes().begin());
    row_ = truth_;
  }
  int unpack(mad_unpacking* message) {
    const int status = to_layout_ ? mad_unpack_layout(message, got_->base(), count_, type_.get(),
                                                      send_mode_, receive_mode_)
                                  : mad_unpack(message, got_->bytes().data(), truth_.size(),
                                               send_mode_, receive_mode_);
    if (receive_mode_ == MAD_RECV_EXPRESS) {
      EXPECT_TRUE(arrived()) << "EXPRESS, and not there";
    }
    return status;
  }
  bool arrived() {
    if (!to_layout_) return got_->bytes() == truth_;
    Arena expected(map_, kUntouched);
    test::unpack(map_, truth_, expected);
    return got_->bytes() == expected.bytes();
  }
  std::string text() const {
    return (type_ ? std::to_string(count_) + " x " + made_.text : "row") + ", " +
           std::to_string(truth_.size()) + " bytes, modes " + std::to_string(send_mode_) + " " +
           std::to_string(receive_mode_);
  }

 private:
  struct Release {
    void operator()(mad_type* type) const { mad_type_release(type); }
  };

  static std::uint64_t random_size(RandomTypes& random) {
    const int kind = static_cast<int>(random.between(0, 9));
    if (kind == 0) return 0;
    if (kind < 6) return static_cast<std::uint64_t>(random.between(1, 100));
    if (kind < 9) return static_cast<std::uint64_t>(random.between(100, 12000));
    return static_cast<std::uint64_t>(random.between(12000, 300000));
  }

  void describe(RandomTypes& random) {
    RandomTypeOptions options;
    options.overlaps = random.between(0, 3) == 0;
    made_ = random.next(options);
    count_ = static_cast<std::uint64_t>(random.between(0, random.between(0, 4) == 0 ? 60 : 3));
    map_ = expand(*made_.type, count_);
    type_.reset(new mad_type(made_.type));
    EXPECT_EQ(mad_type_commit(type_.get()), MAD_SUCCESS) << mad_last_error();
  }

  // The packed bytes in a row of their own, for a side that does not describe them.
  Bytes& row() {
    if (!sends_row_) return sent_->bytes();
    if (row_.empty() && send_mode_ != MAD_SEND_LATER) row_ = truth_;
    row_.resize(truth_.size());
    return row_;
  }
  void scribble() {
    for (std::byte& b : sent_->bytes()) b = ~b;
    for (std::byte& b : row_) b = ~b;
  }

  const mad_send_mode send_mode_;
  const mad_recv_mode receive_mode_;
  std::uint64_t size_ = 0;
  RandomType made_;
  std::unique_ptr<mad_type, Release> type_;
  std::uint64_t count_ = 0;
  TypeMap map_;
  std::optional<Arena> sent_, got_;
  Bytes truth_, kept_, row_;
  bool by_layout_ = false;  // the sender describes it
  bool to_layout_ = false;  // the receiver does
  bool sends_row_ = false;
};

class Engine {
 public:
  explicit Engine(RandomTypes& random) {
    mad_config config;
    mad_config_init(&config);
    config.fabric = "loopback";
    if (random.between(0, 1) == 0) {
      config.flush_threshold = static_cast<std::uint64_t>(random.between(1, 70000));
    }
    if (random.between(0, 1) == 0) {
      config.eager_limit = static_cast<std::uint64_t>(random.between(1, 70000));
    }
    EXPECT_EQ(mad_engine_open(&config, &engine_), MAD_SUCCESS) << mad_last_error();
  }
  ~Engine() { mad_engine_close(engine_); }
  mad_engine* get() { return engine_; }
  mad_peer* peer(const Engine& other) {
    char address[MAD_ADDRESS_MAX];
    size_t size = sizeof(address);
    EXPECT_EQ(mad_engine_address(other.engine_, address, &size), MAD_SUCCESS);
    mad_peer* peer = nullptr;
    EXPECT_EQ(mad_engine_peer(engine_, address, size, &peer), MAD_SUCCESS);
    return peer;
  }

 private:
  mad_engine* engine_ = nullptr;
};

using Message = std::vector<std::unique_ptr<Piece>>;

void send(Engine& engine, mad_peer* to, Message& pieces) {
  mad_packing* message = nullptr;
  ASSERT_EQ(mad_begin_packing(engine.get(), to, &message), MAD_SUCCESS) << mad_last_error();
  for (auto& piece : pieces) {
    ASSERT_EQ(piece->pack(message), MAD_SUCCESS) << piece->text() << ": " << mad_last_error();
  }
  for (auto& piece : pieces) piece->settle();
  ASSERT_EQ(mad_end_packing(message), MAD_SUCCESS) << mad_last_error();
}

void receive(Engine& engine, mad_peer* expected, Message& pieces) {
  mad_unpacking* message = nullptr;
  mad_peer* from = nullptr;
  ASSERT_EQ(mad_begin_unpacking(engine.get(), kLong, &from, &message), MAD_SUCCESS);
  EXPECT_EQ(from, expected);
  for (auto& piece : pieces) {
    ASSERT_EQ(piece->unpack(message), MAD_SUCCESS) << piece->text() << ": " << mad_last_error();
  }
  ASSERT_EQ(mad_end_unpacking(message), MAD_SUCCESS) << mad_last_error();
  for (auto& piece : pieces) ASSERT_TRUE(piece->arrived()) << piece->text();
}

void run_together(Engine& a, const std::function<void()>& in_a, Engine& b,
                  const std::function<void()>& in_b) {
  std::atomic<int> through{0};
  const auto run = [&through](Engine& engine, const std::function<void()>& program) {
    program();
    ++through;
    while (through < 2) {
      mad_engine_progress(engine.get(), nullptr);
      std::this_thread::yield();
    }
  };
  std::thread thread([&] { run(a, in_a); });
  run(b, in_b);
  thread.join();
}

TEST(SessionProperty, WhatIsPackedIsUnpacked) {
  std::uint64_t first = 1, last = 40;
  if (const char* more = std::getenv("MAD_TEST_SEEDS")) last = std::strtoull(more, nullptr, 10);
  if (const char* one = std::getenv("MAD_TEST_SEED")) {
    first = last = std::strtoull(one, nullptr, 10);
  }
  for (std::uint64_t seed = first; seed <= last; ++seed) {
    SCOPED_TRACE("MAD_TEST_SEED=" + std::to_string(seed));
    RandomTypes random(seed);
    Engine a(random), b(random);
    mad_peer* const to_b = a.peer(b);
    mad_peer* const to_a = b.peer(a);
    constexpr int kMessages = 3;
    std::vector<Message> there(kMessages), back(kMessages);
    for (auto* messages : {&there, &back}) {
      for (Message& message : *messages) {
        const std::int64_t pieces = random.between(0, 25);
        for (std::int64_t i = 0; i < pieces; ++i)
          message.push_back(std::make_unique<Piece>(random));
      }
    }
    run_together(
        a,
        [&] {
          for (int i = 0; i < kMessages; ++i) {
            send(a, to_b, there[static_cast<std::size_t>(i)]);
            receive(a, to_b, back[static_cast<std::size_t>(i)]);
          }
        },
        b,
        [&] {
          for (int i = 0; i < kMessages; ++i) {
            receive(b, to_a, there[static_cast<std::size_t>(i)]);
            send(b, to_a, back[static_cast<std::size_t>(i)]);
          }
        });
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace mad::test
