// User: who opens the strict provider and uses it by the book, except where a test does not.
#ifndef TESTS_STRICT_USER_H_
#define TESTS_STRICT_USER_H_

#include <gtest/gtest.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#include <sys/socket.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <utility>
#include <vector>

#include "madlike/driver/libfabric/fid.h"
#include "tests/strict/persona.h"

namespace mad::strict {

/// Where the provider is, and whom it plays.  libfabric looks once, so before the first call of it.
inline void play(const char* persona) {
  setenv("FI_PROVIDER_PATH", "tests/strict", 1);
  setenv("FI_STRICT_AS", persona, 1);
}

inline InfoPtr right_hints(std::size_t cq_data_bytes = 0) {
  InfoPtr hints(fi_allocinfo());
  hints->caps =
      FI_MSG | FI_RMA | FI_SEND | FI_RECV | FI_READ | FI_WRITE | FI_REMOTE_READ | FI_REMOTE_WRITE;
  hints->mode = FI_RX_CQ_DATA;
  hints->addr_format = FI_SOCKADDR;
  hints->ep_attr->type = FI_EP_MSG;
  hints->ep_attr->rx_ctx_cnt = FI_SHARED_CONTEXT;
  hints->domain_attr->mr_mode = kVerbsRegistration;
  hints->domain_attr->cq_data_size = cq_data_bytes;
  hints->domain_attr->threading = FI_THREAD_DOMAIN;
  hints->fabric_attr->prov_name = strdup("strict");
  return hints;
}

/// What the provider offers on the loopback interface; null: nothing.
inline InfoPtr offer(const fi_info& hints) {
  fi_info* list = nullptr;
  (void)fi_getinfo(FI_VERSION(1, 11), "127.0.0.1", nullptr, FI_SOURCE, &hints, &list);
  return InfoPtr(list);
}

/// A domain that listens, with registered memory: its first half to send from, the other to receive
/// in or to be written.
class User {
 public:
  explicit User(std::size_t cq_data_bytes = 0) : info(offer(*right_hints(cq_data_bytes))) {
    if (!info) return;
    fi_eq_attr eq_attr{};
    fi_cq_attr cq_attr{};
    cq_attr.format = FI_CQ_FORMAT_DATA;
    cq_attr.size = 64;
    info->ep_attr->rx_ctx_cnt = FI_SHARED_CONTEXT;
    open(fabric, [&](auto** out) { return fi_fabric(info->fabric_attr, out, nullptr); });
    open(events, [&](auto** out) { return fi_eq_open(fabric.get(), &eq_attr, out, nullptr); });
    open(domain, [&](auto** out) { return fi_domain(fabric.get(), info.get(), out, nullptr); });
    open(queue, [&](auto** out) { return fi_cq_open(domain.get(), &cq_attr, out, nullptr); });
    open(receives,
         [&](auto** out) { return fi_srx_context(domain.get(), info->rx_attr, out, nullptr); });
    open(region, [&](auto** out) {
      return fi_mr_reg(domain.get(), memory.data(), memory.size(),
                       FI_SEND | FI_RECV | FI_WRITE | FI_REMOTE_WRITE, 0, 0, 0, out, nullptr);
    });
    open(listener,
         [&](auto** out) { return fi_passive_ep(fabric.get(), info.get(), out, nullptr); });
    EXPECT_EQ(fi_pep_bind(listener.get(), &events->fid, 0), 0);
    EXPECT_EQ(fi_listen(listener.get()), 0);
  }

  /// The offer with the peer's address in it.
  InfoPtr towards(const User& peer) const {
    InfoPtr to(fi_dupinfo(info.get()));
    sockaddr_storage name{};
    std::size_t size = sizeof(name);
    EXPECT_EQ(fi_getname(&peer.listener->fid, &name, &size), 0);
    to->dest_addr = std::malloc(size);
    std::memcpy(to->dest_addr, &name, size);
    to->dest_addrlen = size;
    return to;
  }
  FidPtr<fid_ep> endpoint(fi_info* from) {
    FidPtr<fid_ep> made;
    open(made, [&](auto** out) { return fi_endpoint(domain.get(), from, out, nullptr); });
    if (!made) return made;
    EXPECT_EQ(fi_ep_bind(made.get(), &events->fid, 0), 0);
    EXPECT_EQ(fi_ep_bind(made.get(), &queue->fid, FI_TRANSMIT | FI_RECV), 0);
    EXPECT_EQ(fi_ep_bind(made.get(), &receives->fid, 0), 0);
    EXPECT_EQ(fi_enable(made.get()), 0);
    return made;
  }

  ssize_t receive(void* context) {
    return fi_recv(receives.get(), in(), kHalf, fi_mr_desc(region.get()), FI_ADDR_UNSPEC, context);
  }
  ssize_t send(std::size_t bytes, void* descriptor, std::uint64_t flags = 0,
               std::uint64_t data = 0) {
    return send({memory.data(), bytes}, descriptor, flags, data);
  }
  ssize_t send(iovec segment, void* descriptor, std::uint64_t flags = 0, std::uint64_t data = 0) {
    fi_msg message{};
    message.msg_iov = &segment;
    message.desc = &descriptor;
    message.iov_count = 1;
    message.context = sent_last = &contexts_[contexts_used_++];
    message.data = data;
    return fi_sendmsg(connection.get(), &message, flags | FI_COMPLETION);
  }
  void* descriptor() { return fi_mr_desc(region.get()); }
  char* in() { return memory.data() + kHalf; }
  /// One completion, if there is any within many looks.
  bool complete(fi_cq_data_entry* out, User& other) {
    for (int i = 0; i < kLooks; ++i) {
      const ssize_t count = fi_cq_read(queue.get(), out, 1);
      if (count == 1) return true;
      EXPECT_EQ(count, -FI_EAGAIN);
      if (count != -FI_EAGAIN) return false;
      other.look();
    }
    return false;
  }
  /// The next event, which is of that type; its request, if it is one.
  InfoPtr event(std::uint32_t type, User& other) {
    for (int i = 0; i < kLooks && seen_.empty(); ++i) {
      look();
      other.look();
    }
    EXPECT_FALSE(seen_.empty()) << "no event of type " << type;
    if (seen_.empty()) return nullptr;
    EXPECT_EQ(seen_.front().type, type);
    InfoPtr request = std::move(seen_.front().request);
    seen_.pop_front();
    return request;
  }
  /// tcp moves only while somebody looks at its queues.
  void look() {
    std::uint32_t type = 0;
    std::array<char, 512> bytes{};
    if (fi_eq_read(events.get(), &type, bytes.data(), bytes.size(), 0) > 0) {
      fi_eq_cm_entry entry;
      std::memcpy(&entry, bytes.data(), sizeof(entry));
      seen_.push_back({type, InfoPtr(entry.info)});
    }
    (void)fi_cq_read(queue.get(), nullptr, 0);
  }
  void connect(User& peer) {
    const InfoPtr to = towards(peer);
    connection = endpoint(to.get());
    ASSERT_EQ(fi_connect(connection.get(), to->dest_addr, nullptr, 0), 0);
    const InfoPtr request = peer.event(FI_CONNREQ, *this);
    ASSERT_NE(request, nullptr);
    peer.connection = peer.endpoint(request.get());
    ASSERT_EQ(fi_accept(peer.connection.get(), nullptr, 0), 0);
    (void)event(FI_CONNECTED, peer);
    (void)peer.event(FI_CONNECTED, *this);
  }

  static constexpr std::size_t kHalf = 4096;
  void* sent_last = nullptr;  // its context
  std::vector<char> memory = std::vector<char>(2 * kHalf);
  InfoPtr info;
  FidPtr<fid_fabric> fabric;
  FidPtr<fid_eq> events;
  FidPtr<fid_domain> domain;
  FidPtr<fid_cq> queue;
  FidPtr<fid_mr> region;  // outlives what uses it
  FidPtr<fid_ep> receives;
  FidPtr<fid_pep> listener;
  FidPtr<fid_ep> connection;

 private:
  struct Event {
    std::uint32_t type;
    InfoPtr request;
  };
  static constexpr int kLooks = 1000000;

  template <typename Fid, typename Open>
  static void open(FidPtr<Fid>& place, const Open& how) {
    EXPECT_FALSE(open_one(place, "opening", how).error());
  }

  std::deque<Event> seen_;
  std::array<char, 16> contexts_{};
  std::size_t contexts_used_ = 0;
};

}  // namespace mad::strict

#endif  // TESTS_STRICT_USER_H_
