#include "tests/fuzz/fuzzed_messenger.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace mad::test {
namespace {

constexpr std::size_t kMost = 300 * 1000;  // bytes of a payload that is sent or received

// What is sent; read only.
std::byte* memory() {
  static std::vector<std::byte> bytes(kMost, std::byte{0x5C});
  return bytes.data();
}

MessengerConfig small() {
  MessengerConfig config;
  config.eager_limit = 20 * 1000;
  config.peer_credit = 50 * 1000;
  config.staging_bytes = 1024 * 1024;
  return config;
}

class Source final : public PayloadSource {
 public:
  Source(std::size_t bytes, bool references) : left_(bytes), references_(references) {}
  void fill(Packet& packet, std::uint64_t limit) override {
    std::size_t size = std::min<std::uint64_t>(limit, left_);
    if (references_ && packet.can_reference()) {
      size = packet.reference({memory(), size});
    } else {
      const Segment room = packet.staging_room();
      size = std::min(size, room.size);
      std::memcpy(room.data, memory(), size);
      packet.stage(size);
    }
    left_ -= size;
  }

 private:
  std::size_t left_;
  bool references_;
};

class Sink final : public PayloadSink {
 public:
  Sink(std::size_t bytes, bool one_run) : bytes_(bytes), one_run_(one_run) {}
  void place(std::uint64_t offset, Segment piece) override {
    overrun = overrun || offset > bytes_.size() || piece.size > bytes_.size() - offset;
    if (!overrun && piece.size > 0) std::memcpy(bytes_.data() + offset, piece.data, piece.size);
  }
  std::size_t runs(std::uint64_t offset, std::uint64_t size, Segment* out, std::size_t) override {
    if (!one_run_ || offset > bytes_.size() || size > bytes_.size() - offset) return 0;
    *out = {bytes_.data() + offset, static_cast<std::size_t>(size)};
    return 1;
  }
  bool overrun = false;

 private:
  std::vector<std::byte> bytes_;
  bool one_run_;
};

}  // namespace

struct FuzzedMessenger::Send : OutgoingMessage {
  Send(std::size_t bytes, bool references) : reader(bytes, references) {
    source = &reader;
    payload_bytes = bytes;
  }
  Source reader;
  int done = 0;
};

struct FuzzedMessenger::Receive {
  Receive(std::size_t bytes, bool one_run) : sink(bytes, one_run) {}
  Sink sink;
  int done = 0;
};

FuzzedMessenger::FuzzedMessenger(std::unique_ptr<Driver> driver) {
  std::vector<std::unique_ptr<Driver>> drivers;
  drivers.push_back(std::move(driver));
  messenger_ =
      std::make_unique<Messenger>(small(), static_cast<MessageEvents&>(*this), std::move(drivers));
}

FuzzedMessenger::~FuzzedMessenger() = default;

void FuzzedMessenger::meet(const std::vector<std::byte>& address, FuzzedBytes* choices) {
  choices_ = choices;
  gone_ = false;
  peer_ = messenger_->connect({{0, address}}).value();
}

void FuzzedMessenger::progress(int turns) {
  for (int i = 0; i < turns; ++i) (void)messenger_->progress();
}

void FuzzedMessenger::act() {
  if (choices_->below(2) == 0) return send();
  if (kept_.empty()) return;
  const Kept kept = kept_.front();
  kept_.pop_front();
  if (choices_->below(3) == 0) return messenger_->discard(*kept.message);
  accept(*kept.message);
}

void FuzzedMessenger::send() {
  if (peer_ == nullptr) return;
  const std::size_t header = choices_->below(40);
  const std::size_t bytes = choices_->below(4) == 0 ? choices_->below(kMost) : choices_->below(200);
  if (bytes == 0) {
    (void)messenger_->send_header(*peer_, 1, {memory(), header});
    return;
  }
  Send& send = sends_.emplace_back(bytes, choices_->below(2) == 0);
  if (!messenger_->send(*peer_, 1, {memory(), header}, send).in_progress()) send.done = 1;
}

void FuzzedMessenger::accept(IncomingMessage& message) {
  const std::size_t bytes = choices_->below(2) == 0 ? kMost : choices_->below(200);
  Receive& receive = receives_.emplace_back(bytes, choices_->below(2) == 0);
  const Status status = messenger_->accept(message, receive.sink, bytes, &receive);
  if (!status.in_progress()) receive.done = 1;
}

void FuzzedMessenger::on_message(Endpoint& /*from*/, std::uint8_t handler, Segment header,
                                 std::uint64_t payload_bytes, IncomingMessage* message) {
  std::uint8_t sum = handler;  // all of the header can be read
  for (const std::byte byte : std::vector<std::byte>(header.begin(), header.end())) {
    sum = static_cast<std::uint8_t>(sum + static_cast<std::uint8_t>(byte));
  }
  if (message == nullptr) return;
  switch ((choices_->below(4) + sum) % 4) {
    case 0:
    case 1:
      return accept(*message);
    case 2:
      return messenger_->discard(*message);
    default:
      kept_.push_back({message, payload_bytes});
  }
}

void FuzzedMessenger::on_sent(OutgoingMessage& message, const Status& /*status*/) {
  ++static_cast<Send&>(message).done;
}

void FuzzedMessenger::on_received(void* context, std::uint64_t /*bytes*/,
                                  const Status& /*status*/) {
  ++static_cast<Receive*>(context)->done;
}

void FuzzedMessenger::on_peer_gone(Endpoint& peer, const Status& /*status*/) {
  gone_ = true;
  peer_ = nullptr;
  messenger_->release(peer);
}

std::string FuzzedMessenger::part() {
  std::string wrong;
  for (const Kept& kept : kept_) messenger_->discard(*kept.message);
  for (const Send& send : sends_) {
    if (send.done != 1) wrong = "a send ended " + std::to_string(send.done) + " times";
  }
  for (const Receive& receive : receives_) {
    if (receive.done != 1) wrong = "a receive ended " + std::to_string(receive.done) + " times";
    if (receive.sink.overrun) wrong = "bytes beyond what was accepted";
  }
  kept_.clear();
  sends_.clear();
  receives_.clear();
  return wrong;
}

}  // namespace mad::test
