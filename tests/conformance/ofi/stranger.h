// Stranger: who uses libfabric's endpoints as an engine does, and says what a test wants it to.
#ifndef TESTS_CONFORMANCE_OFI_STRANGER_H_
#define TESTS_CONFORMANCE_OFI_STRANGER_H_

#include <algorithm>
#include <array>
#include <cstring>
#include <deque>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "madlike/driver/ofi/credit.h"
#include "madlike/driver/ofi/greeting.h"
#include "madlike/driver/ofi/header.h"
#include "tests/conformance/ofi/engine.h"

namespace mad {

class Stranger {
 public:
  static constexpr std::uint16_t kCredit = 8;  // packets that an engine on a device may send

  explicit Stranger(std::unique_ptr<OfiFabric> fabric = fabric_on_lo())
      : buffers_(64, Bytes(64)), fabric_(std::move(fabric)) {
    for (std::size_t i = 0; i < buffers_.size(); ++i) {
      EXPECT_EQ(fi_recv(fabric_->receives(), buffers_[i].data(), buffers_[i].size(), nullptr,
                        FI_ADDR_UNSPEC, &buffers_[i]),
                0);
    }
  }

  ~Stranger() {
    for (int i = 0; i < 20; ++i) look();
    drop_request();
  }

  const Bytes& address() const { return fabric_->address(); }
  /// What an engine here would ask with.
  Greeting request() const {
    Greeting greeting;
    greeting.incarnation = greeting.sequence = 1;
    greeting.tag = kTag;
    greeting.credit = CreditPool::kUncounted;
    greeting.address = address();
    return greeting;
  }
  /// An engine on a device gives kCredit.
  static Greeting acceptance(std::uint16_t credit = CreditPool::kUncounted) {
    Greeting greeting;
    greeting.kind = Greeting::Kind::kAcceptance;
    greeting.incarnation = greeting.sequence = 1;
    greeting.tag = kTag;
    greeting.credit = credit;
    return greeting;
  }

  void ask(const Bytes& engine, const Bytes& data) {
    event_ = {};
    take(fabric_->open_endpoint(engine));
    EXPECT_EQ(fi_connect(endpoint_.get(), engine.data(), data.data(), data.size()), 0);
  }
  /// Of an engine that has asked.
  void accept(const Bytes& data) {
    take(fabric_->open_endpoint(request_.get()));
    request_.reset();
    EXPECT_EQ(fi_accept(endpoint_.get(), data.data(), data.size()), 0);
  }
  void refuse(const Bytes& data) {
    EXPECT_EQ(fi_reject(fabric_->listener(), request_->handle, data.data(), data.size()), 0);
    request_.reset();
  }

  /// Takes what there is.
  void look() {
    alignas(fi_eq_cm_entry) std::array<std::byte, sizeof(fi_eq_cm_entry) + 256> bytes;
    std::uint32_t type = 0;
    const ssize_t size = fi_eq_read(fabric_->events(), &type, bytes.data(), bytes.size(), 0);
    if (size == -FI_EAVAIL) {
      std::array<std::byte, 256> data{};
      fi_eq_err_entry error{};
      error.err_data = data.data();
      error.err_data_size = data.size();
      if (fi_eq_readerr(fabric_->events(), &error, 0) < 0) return;
      refused_ = true;
      event_ = Greeting::parse(error.err_data, error.err_data_size);
    } else if (size >= static_cast<ssize_t>(sizeof(fi_eq_cm_entry))) {
      const auto* const entry = reinterpret_cast<const fi_eq_cm_entry*>(bytes.data());
      if (type == FI_CONNREQ) {
        drop_request();
        request_.reset(entry->info);
      }
      if (type == FI_CONNECTED) connected_ = true;
      event_ = Greeting::parse(bytes.data() + sizeof(*entry),
                               static_cast<std::size_t>(size) - sizeof(*entry));
    }
    fi_cq_msg_entry packet{};
    if (fi_cq_read(fabric_->completions(), &packet, 1) == 1 && (packet.flags & FI_RECV) != 0) {
      const auto header =
          OfiHeader::read({static_cast<Bytes*>(packet.op_context)->data(), packet.len});
      EXPECT_TRUE(header);
      if (header) headers_.push_back(*header);
    }
  }
  bool was_asked() const { return request_ != nullptr; }
  bool is_connected() const { return connected_; }
  bool is_refused() const { return refused_; }
  /// What came with the last event, if that is a greeting.
  const std::optional<Greeting>& greeting() const { return event_; }
  /// Of the packets that came.
  const std::vector<OfiHeader>& headers() const { return headers_; }

  void send(const OfiHeader& header, const Bytes& bytes = {}) {
    Bytes packet(OfiHeader::kBytes);
    header.write(packet.data());
    packet.insert(packet.end(), bytes.begin(), bytes.end());
    send(packet);
  }
  /// A packet of one word with this tag.
  void send(std::uint64_t tag, std::uint64_t word) {
    OfiHeader header;
    header.tag = tag;
    Bytes bytes(sizeof(word));
    std::memcpy(bytes.data(), &word, sizeof(word));
    send(header, bytes);
  }
  void send_last(std::uint64_t tag) {
    OfiHeader header;
    header.tag = tag;
    header.kind = OfiHeader::Kind::kLast;
    send(header);
  }
  void send(const Bytes& packet) {
    sent_.push_back(packet);
    EXPECT_EQ(fi_send(endpoint_.get(), sent_.back().data(), packet.size(), nullptr, FI_ADDR_UNSPEC,
                      nullptr),
              0);
  }

 private:
  void take(Result<FidPtr<fid_ep>> opened) {
    ASSERT_TRUE(opened.ok()) << opened.status().message();
    EXPECT_TRUE(fabric_->enable(opened->get()).ok());
    endpoint_ = std::move(*opened);
  }

  /// libfabric frees what it has of a request when that is answered; who asked may have left.
  void drop_request() {
    if (request_) (void)fi_reject(fabric_->listener(), request_->handle, nullptr, 0);
    request_.reset();
  }

  static constexpr std::uint64_t kTag = 0x1234567800;  // that the engine's packets are to have

  std::vector<Bytes> buffers_;
  std::deque<Bytes> sent_;
  std::unique_ptr<OfiFabric> fabric_;
  FidPtr<fid_ep> endpoint_;
  InfoPtr request_;
  bool connected_ = false, refused_ = false;
  std::optional<Greeting> event_;
  std::vector<OfiHeader> headers_;
};

inline bool pump(OfiEngine& engine, Stranger& stranger, const std::function<bool()>& done) {
  return poll_all<OfiEngine>({&engine}, [&] {
    stranger.look();
    return done();
  });
}

}  // namespace mad

#endif  // TESTS_CONFORMANCE_OFI_STRANGER_H_
