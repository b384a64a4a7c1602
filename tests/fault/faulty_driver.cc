#include "tests/fault/faulty_driver.h"

#include <algorithm>
#include <array>
#include <utility>

namespace mad {
namespace {

// Completions taken from the real driver and not handed out yet; beyond that it must wait, so that
// its back-pressure is still felt.
constexpr std::size_t kMostHeld = 256;

const Status& death() {
  static const Status status(StatusCode::kPeerFailed, "the connection was cut by the fault plan");
  return status;
}

// Sent and written packets complete in any order; the rest of a connection is one ordered stream.
bool in_stream(const Completion& completion) {
  return completion.kind != Completion::Kind::kSent &&
         completion.kind != Completion::Kind::kWritten;
}

}  // namespace

FaultyDriver::FaultyDriver(std::unique_ptr<Driver> inner, FaultPlan plan)
    : inner_(std::move(inner)), plan_(std::move(plan)), random_(plan_.seed) {}

FaultyDriver::~FaultyDriver() {
  for (const Held& held : held_) drop(held.completion);
  for (void* buffer : cut_buffers_) inner_->release(buffer);
}

void FaultyDriver::drop(const Completion& completion) {
  if (completion.buffer != nullptr) inner_->release(completion.buffer);
}

void FaultyDriver::cut(ConnectionId connection) {
  if (!cut_.insert(connection).second) return;
  ++counts_.deaths;
  inner_->disconnect(connection);
  Completion end;
  end.kind = Completion::Kind::kDisconnected;
  end.connection = connection;
  end.status = death();
  hold(end);
}

Result<ConnectionId> FaultyDriver::connect(const std::byte* address, std::size_t size) {
  return inner_->connect(address, size);
}

const std::vector<std::byte>& FaultyDriver::peer_address(ConnectionId connection) const {
  return inner_->peer_address(connection);
}

Status FaultyDriver::before_post(ConnectionId connection) {
  if (cut_.count(connection) != 0) return death();
  if (gone_.count(connection) == 0 && happens(plan_.refuse_post)) {
    ++counts_.refused_posts;
    return StatusCode::kAgain;
  }
  return StatusCode::kOk;
}

Status FaultyDriver::after_post(ConnectionId connection, Status status) {
  if (status.again() || status.error()) return status;
  if (++accepted_ == plan_.dies_at) {
    if (plan_.at_death) {
      ++counts_.deaths;
      plan_.at_death();
    } else {
      cut(connection);
    }
  }
  return status;
}

Status FaultyDriver::post_send(ConnectionId connection, SegmentList packet, void* context) {
  const Status refused = before_post(connection);
  if (!refused.ok()) return refused;
  return after_post(connection, plan_.tap == nullptr
                                    ? inner_->post_send(connection, packet, context)
                                    : post_tapped(connection, packet, context));
}

bool FaultyDriver::flip(Segment packet, std::size_t rest) {
  const Segment payload = plan_.tap->payload(packet, rest);
  if (payload.size == 0 || !happens(plan_.flip_bit)) return false;
  payload.begin()[random_() % payload.size] ^= static_cast<std::byte>(1 << random_() % 8);
  return true;
}

// The caller's memory stays as it is: a copy travels.
Status FaultyDriver::post_tapped(ConnectionId connection, SegmentList packet, void* context) {
  std::vector<std::byte>& copy = tapped_.emplace_back();
  for (const Segment& segment : packet) copy.insert(copy.end(), segment.begin(), segment.end());
  const Segment all{copy.data(), copy.size()};
  plan_.tap->posting(all, 0);
  const bool flipped = flip(all, 0);
  Status status = inner_->post_send(connection, {&all, 1}, context);
  if (flipped && (status.ok() || status.in_progress())) {
    ++counts_.flipped_bits;
    plan_.tap->damaged(all, 0);
  }
  if (!status.in_progress()) tapped_.pop_back();
  return status;
}

// Lets the tap see what another writer wrote, where that is the first piece of a packet: the others
// have no frame.
class FaultyDriver::TappedWriter final : public PacketWriter {
 public:
  TappedWriter(FaultyDriver& driver, PacketWriter& inner, bool first)
      : PacketWriter(inner.left(), inner.run_bytes()),
        driver_(driver),
        inner_(inner),
        first_(first) {}

 private:
  void write_next(Segment written) override {
    inner_.write(written);
    if (!first_) return;
    driver_.plan_.tap->posting(written, left());
    if (!driver_.flip(written, left())) return;
    ++driver_.counts_.flipped_bits;
    driver_.plan_.tap->damaged(written, left());
  }

  FaultyDriver& driver_;
  PacketWriter& inner_;
  const bool first_;
};

Status FaultyDriver::post_lent(ConnectionId connection, PacketWriter& writer) {
  Status status = before_post(connection);
  if (!status.ok()) return status;
  if (plan_.tap == nullptr) {
    status = inner_->post_lent(connection, writer);
  } else {
    TappedWriter tapped(*this, writer, unfinished_.count(connection) == 0);
    status = inner_->post_lent(connection, tapped);
    if (status.ok() && writer.left() > 0) unfinished_.insert(connection);
    if (status.ok() && writer.left() == 0) unfinished_.erase(connection);
  }
  return after_post(connection, status);
}

Status FaultyDriver::post_put(ConnectionId connection, SegmentList packet,
                              const ExposureToken& token, std::uint64_t offset, void* context) {
  const Status refused = before_post(connection);
  if (!refused.ok()) return refused;
  return after_post(connection, inner_->post_put(connection, packet, token, offset, context));
}

Result<std::size_t> FaultyDriver::post_get(ConnectionId connection, Segment memory,
                                           const ExposureToken& token, std::uint64_t offset,
                                           void* context) {
  const Status refused = before_post(connection);
  if (!refused.ok()) return refused;
  Result<std::size_t> posted = inner_->post_get(connection, memory, token, offset, context);
  if (posted.ok()) (void)after_post(connection, StatusCode::kInProgress);
  return posted;
}

Status FaultyDriver::before_expose(ConnectionId connection) {
  if (cut_.count(connection) != 0) return death();
  if (!happens(plan_.refuse_expose)) return {};
  ++counts_.refused_exposures;
  return {StatusCode::kNoMemory, "exposing memory was refused by the fault plan"};
}

Result<ExposureToken> FaultyDriver::expose(ConnectionId connection, Segment memory) {
  const Status refused = before_expose(connection);
  return refused.ok() ? inner_->expose(connection, memory) : refused;
}

Result<ExposureToken> FaultyDriver::expose_scattered(ConnectionId connection,
                                                     ScatteredMemory& memory, std::uint64_t first,
                                                     std::uint64_t size) {
  const Status refused = before_expose(connection);
  return refused.ok() ? inner_->expose_scattered(connection, memory, first, size) : refused;
}

void FaultyDriver::withdraw(ConnectionId connection, const ExposureToken& token) {
  inner_->withdraw(connection, token);
}

Status FaultyDriver::post_write(ConnectionId connection, SegmentList packet,
                                const ExposureToken& token, std::uint64_t offset, void* context) {
  const Status refused = before_post(connection);
  if (!refused.ok()) return refused;
  if (happens(plan_.fail_write)) {
    ++counts_.failed_writes;
    const Status failed(StatusCode::kInternal, "the remote write was refused by the fault plan");
    if (happens(500)) return failed;
    Completion completion;
    completion.kind = Completion::Kind::kWritten;
    completion.connection = connection;
    completion.context = context;
    completion.status = failed;
    hold(completion);
    cut(connection);  // or a packet posted later would say that the bytes are there
    return StatusCode::kInProgress;
  }
  return after_post(connection, inner_->post_write(connection, packet, token, offset, context));
}

void FaultyDriver::disconnect(ConnectionId connection) {
  gone_.insert(connection);
  inner_->disconnect(connection);
}

void FaultyDriver::hold(const Completion& completion) {
  std::uint64_t due = polls_;
  if (happens(plan_.delay)) {
    ++counts_.delayed;
    due += 1 + random_() % plan_.max_delay;
  }
  held_.push_back({completion, polls_, due});
}

void FaultyDriver::take_from_inner() {
  std::array<Completion, 16> news;
  while (held_.size() < kMostHeld) {
    const std::size_t count = inner_->poll(news.data(), news.size());
    for (std::size_t i = 0; i < count; ++i) {
      // What still comes from a connection that is cut: its own packets' completions only.
      if (cut_.count(news[i].connection) != 0 && in_stream(news[i])) {
        if (news[i].buffer != nullptr) cut_buffers_.push_back(news[i].buffer);
        continue;
      }
      if (news[i].kind == Completion::Kind::kDisconnected) gone_.insert(news[i].connection);
      hold(news[i]);
    }
    if (count < news.size() || news.back().rest > 0) return;
  }
}

// Indices of what may be handed out now: due, and not behind an earlier one of the same stream.
std::vector<std::size_t> FaultyDriver::eligible() const {
  std::vector<std::size_t> indices;
  std::set<ConnectionId> behind = in_pieces_;
  for (std::size_t i = 0; i < held_.size(); ++i) {
    const Completion& completion = held_[i].completion;
    const bool first = !in_stream(completion) || behind.insert(completion.connection).second;
    if (first && held_[i].due <= polls_) indices.push_back(i);
  }
  return indices;
}

// Delays count polls, which nobody makes asleep.
Status FaultyDriver::watch(std::vector<pollfd>* /*out*/) { return StatusCode::kNotFound; }

Status FaultyDriver::read_offered(ConnectionId connection, std::uint64_t address,
                                  std::uint64_t bytes, ScatteredMemory& memory) {
  if (cut_.count(connection) != 0) return StatusCode::kPeerFailed;
  Status status = before_expose(connection);
  return status.ok() ? inner_->read_offered(connection, address, bytes, memory) : status;
}

// The inner driver knows no other piece than the last it gave.
Status FaultyDriver::place_rest(ConnectionId connection, ScatteredMemory& memory,
                                std::uint64_t first) {
  if (fresh_.count(connection) == 0 || cut_.count(connection) != 0) return StatusCode::kAgain;
  return inner_->place_rest(connection, memory, first);
}

std::size_t FaultyDriver::poll(Completion* out, std::size_t capacity) {
  ++polls_;
  fresh_.clear();
  in_pieces_.clear();
  take_from_inner();
  const std::size_t most =
      happens(plan_.short_poll) ? std::min<std::size_t>(capacity, 1) : capacity;
  std::size_t count = 0;
  while (count < most) {
    const std::vector<std::size_t> indices = eligible();
    if (indices.empty()) break;
    const std::size_t chosen = plan_.reorder ? indices[random_() % indices.size()] : indices[0];
    if (chosen != 0) ++counts_.overtakings;
    const Held& held = held_[chosen];
    if (held.completion.rest > 0) {
      in_pieces_.insert(held.completion.connection);
      if (held.taken == polls_) fresh_.insert(held.completion.connection);
    }
    out[count++] = std::move(held_[chosen].completion);
    held_.erase(held_.begin() + static_cast<std::ptrdiff_t>(chosen));
  }
  return count;
}

}  // namespace mad
