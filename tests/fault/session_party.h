// SessionParty: one engine of a session test - a messenger on a loopback network with a hub - and
// run_together(), which gives each party a thread of its own.
#ifndef TESTS_FAULT_SESSION_PARTY_H_
#define TESTS_FAULT_SESSION_PARTY_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "madlike/driver/loopback/loopback.h"
#include "madlike/message/messenger.h"
#include "madlike/message/session/session_hub.h"
#include "tests/fault/faulty_driver.h"

namespace mad::test {

class SessionParty final : private MessageEvents {
 public:
  SessionParty(const std::shared_ptr<LoopbackNetwork>& network, const FaultPlan& plan,
               const SessionTuning& tuning = {}, const MessengerConfig& config = {}) {
    auto loopback = std::make_unique<LoopbackDriver>(network);
    auto faulty = std::make_unique<FaultyDriver>(std::move(loopback), plan);
    driver_ = faulty.get();
    std::vector<std::unique_ptr<Driver>> drivers;
    drivers.push_back(std::move(faulty));
    messenger_ =
        std::make_unique<Messenger>(config, static_cast<MessageEvents&>(*this), std::move(drivers));
    hub_ = std::make_unique<SessionHub>(*messenger_, tuning);
  }
  ~SessionParty() override {
    messenger_.reset();  // nothing refers to a session's memory any more
    hub_.reset();
  }

  SessionHub& hub() { return *hub_; }
  Messenger& messenger() { return *messenger_; }
  const std::vector<std::byte>& address() const { return driver_->address(); }
  Endpoint& endpoint(const SessionParty& other) {
    return *messenger_->connect({{0, other.address()}}).value();
  }
  PackingSession& begin_packing(const SessionParty& to) {
    return hub_->begin_packing(endpoint(to), &to == this);
  }
  /// This engine dies without a word.
  void die() { static_cast<LoopbackDriver&>(driver_->inner()).fail(); }

  std::vector<std::string> other_messages;  // of other handlers
  int peers_gone = 0;

 private:
  void on_message(Endpoint& from, std::uint8_t handler, Segment header, std::uint64_t payload_bytes,
                  IncomingMessage* message) override {
    if (handler == kMadeleineHandler) {
      hub_->on_message(from, header, payload_bytes, message);
    } else {
      other_messages.emplace_back(static_cast<const char*>(header.data), header.size);
      if (message != nullptr) messenger_->discard(*message);
    }
  }
  void on_sent(OutgoingMessage& message, const Status& status) override {
    static_cast<OutgoingOperation&>(message).finished(status);
  }
  void on_received(void* context, std::uint64_t bytes, const Status& status) override {
    IncomingOperation::from_context(context).finished(bytes, status);
  }
  void on_peer_gone(Endpoint& peer, const Status& status) override {
    ++peers_gone;
    hub_->on_peer_gone(peer, status);
  }

  FaultyDriver* driver_ = nullptr;
  std::unique_ptr<SessionHub> hub_;
  std::unique_ptr<Messenger> messenger_;
};

/// Runs each program in a thread; whoever is through keeps its messenger moving for the others.
inline void run_together(
    const std::vector<std::pair<SessionParty*, std::function<void()>>>& programs) {
  std::atomic<std::size_t> through{0};
  std::vector<std::thread> threads;
  for (const auto& program : programs) {
    threads.emplace_back([&programs, &program, &through] {
      program.second();
      ++through;
      while (through < programs.size()) {
        if (program.first->messenger().progress() == 0) std::this_thread::yield();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace mad::test

#endif  // TESTS_FAULT_SESSION_PARTY_H_
