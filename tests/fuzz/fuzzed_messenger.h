// FuzzedMessenger: a messenger whose user does what a fuzzer's bytes say, and notices what must
// never happen, whatever a peer sends.
#ifndef TESTS_FUZZ_FUZZED_MESSENGER_H_
#define TESTS_FUZZ_FUZZED_MESSENGER_H_

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "madlike/driver/driver.h"
#include "madlike/message/messenger.h"
#include "tests/fuzz/fuzzed_bytes.h"

namespace mad::test {

class FuzzedMessenger final : private MessageEvents {
 public:
  explicit FuzzedMessenger(std::unique_ptr<Driver> driver);
  ~FuzzedMessenger() override;

  /// The engine at `address` is the one to talk to from now on; `choices` outlives that.
  void meet(const std::vector<std::byte>& address, FuzzedBytes* choices);
  /// Sends a message, or receives or discards one that has arrived.
  void act();
  void progress(int turns = 1);
  Driver& driver() { return messenger_->driver(0); }
  /// Whether the engine that it met is gone.
  bool alone() const { return gone_; }
  /// What is wrong once that engine is gone and forgotten; or nothing.
  std::string part();

 private:
  struct Send;
  struct Receive;

  void on_message(Endpoint& from, std::uint8_t handler, Segment header, std::uint64_t payload_bytes,
                  IncomingMessage* message) override;
  void on_sent(OutgoingMessage& message, const Status& status) override;
  void on_received(void* context, std::uint64_t bytes, const Status& status) override;
  void on_peer_gone(Endpoint& peer, const Status& status) override;
  void send();
  void accept(IncomingMessage& message);

  struct Kept {
    IncomingMessage* message;
    std::uint64_t bytes;
  };
  FuzzedBytes* choices_ = nullptr;
  Endpoint* peer_ = nullptr;
  bool gone_ = false;
  std::deque<Kept> kept_;
  std::deque<Send> sends_;
  std::deque<Receive> receives_;
  std::unique_ptr<Messenger> messenger_;
};

}  // namespace mad::test

#endif  // TESTS_FUZZ_FUZZED_MESSENGER_H_
