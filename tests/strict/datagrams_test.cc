// What providers for datagrams demand of their users and do to them, as each of the personas.
#include <rdma/fi_cm.h>
#include <rdma/fi_errno.h>

#include <array>
#include <cstring>
#include <memory>
#include <vector>

#include "tests/strict/user.h"

namespace mad::strict {
namespace {

InfoPtr hints_for(const Persona& persona) {
  InfoPtr hints(fi_allocinfo());
  hints->caps = FI_MSG | FI_SEND | FI_RECV;
  hints->mode = persona.mode;
  hints->ep_attr->type = FI_EP_RDM;
  hints->domain_attr->mr_mode = persona.mr_mode;
  hints->domain_attr->threading = FI_THREAD_DOMAIN;
  if (persona.orders_sends) hints->tx_attr->msg_order = hints->rx_attr->msg_order = FI_ORDER_SAS;
  hints->fabric_attr->prov_name = strdup("strict");
  return hints;
}

/// What a provider may keep in an operation's context, and what is the user's.
struct Context {
  Context() { bytes.fill(std::byte{1}); }
  std::size_t changed() const {
    std::size_t count = 0;
    while (count < bytes.size() && bytes[count] != std::byte{1}) ++count;
    return count;
  }
  std::array<std::byte, 128> bytes;
};

/// An endpoint for datagrams.
struct Datagrams {
  explicit Datagrams(const Persona& persona) : info(offer(*hints_for(persona))) {
    if (!info) return;
    fi_cq_attr cq_attr{};
    cq_attr.format = FI_CQ_FORMAT_MSG;
    fi_av_attr av_attr{};
    av_attr.type = FI_AV_TABLE;
    open(fabric, [&](auto** out) { return fi_fabric(info->fabric_attr, out, nullptr); });
    open(domain, [&](auto** out) { return fi_domain(fabric.get(), info.get(), out, nullptr); });
    open(queue, [&](auto** out) { return fi_cq_open(domain.get(), &cq_attr, out, nullptr); });
    open(addresses, [&](auto** out) { return fi_av_open(domain.get(), &av_attr, out, nullptr); });
    open(endpoint, [&](auto** out) { return fi_endpoint(domain.get(), info.get(), out, nullptr); });
    EXPECT_EQ(fi_ep_bind(endpoint.get(), &queue->fid, FI_TRANSMIT | FI_RECV), 0);
    EXPECT_EQ(fi_ep_bind(endpoint.get(), &addresses->fid, 0), 0);
    EXPECT_EQ(fi_enable(endpoint.get()), 0);
  }
  template <typename Fid, typename Open>
  static void open(FidPtr<Fid>& place, const Open& how) {
    EXPECT_FALSE(open_one(place, "opening", how).error());
  }
  fi_addr_t add(const Datagrams& peer) const {
    std::array<char, 64> name{};
    std::size_t size = name.size();
    EXPECT_EQ(fi_getname(&peer.endpoint->fid, name.data(), &size), 0);
    fi_addr_t added = FI_ADDR_UNSPEC;
    EXPECT_EQ(fi_av_insert(addresses.get(), name.data(), 1, &added, 0, nullptr), 1);
    return added;
  }

  InfoPtr info;
  FidPtr<fid_fabric> fabric;
  FidPtr<fid_domain> domain;
  FidPtr<fid_cq> queue;
  FidPtr<fid_av> addresses;
  FidPtr<fid_ep> endpoint;
};

class DatagramRules : public ::testing::TestWithParam<Persona> {
 protected:
  static constexpr std::size_t kMessages = 6;

  void SetUp() override {
    play(GetParam().name.data());
    a = std::make_unique<Datagrams>(GetParam());
    b = std::make_unique<Datagrams>(GetParam());
    ASSERT_NE(a->info, nullptr);
    to_b = a->add(*b);
  }
  ssize_t receive() {
    Context& context = receives.emplace_back();
    return fi_recv(b->endpoint.get(), in[receives.size() - 1].data(), 64, nullptr, FI_ADDR_UNSPEC,
                   &context);
  }
  /// Connecting below takes a while.
  template <typename Post>
  ssize_t post(const Post& how) {
    ssize_t error = -FI_EAGAIN;
    for (int i = 0; i < kLooks && error == -FI_EAGAIN; ++i) {
      error = how();
      look();
    }
    return error;
  }
  ssize_t send(char what) {
    Context& context = sends.emplace_back();
    out[sends.size() - 1] = what;
    return post([&] {
      return fi_send(a->endpoint.get(), &out[sends.size() - 1], 1, nullptr, to_b, &context);
    });
  }
  ssize_t inject(std::size_t bytes) {
    const std::vector<char> message(bytes, 'i');
    return post([&] { return fi_inject(a->endpoint.get(), message.data(), bytes, to_b); });
  }
  /// Takes what there is.
  void look() {
    fi_cq_msg_entry entry{};
    if (fi_cq_read(b->queue.get(), &entry, 1) == 1) came.push_back(entry.op_context);
    if (looks_at_sends && fi_cq_read(a->queue.get(), &entry, 1) == 1) {
      left.push_back(entry.op_context);
    }
    if (!looks_at_sends) (void)fi_cq_read(a->queue.get(), nullptr, 0);
  }
  bool wait(const std::vector<void*>& list, std::size_t count) {
    for (int i = 0; i < kLooks && list.size() < count; ++i) look();
    return list.size() == count;
  }

  static constexpr int kLooks = 1000000;
  std::unique_ptr<Datagrams> a, b;
  fi_addr_t to_b = FI_ADDR_UNSPEC;
  std::deque<Context> sends, receives;
  std::array<char, 16> out{};
  std::array<std::array<char, 64>, 16> in{};
  std::vector<void*> came, left;  // contexts
  bool looks_at_sends = true;
};

TEST_P(DatagramRules, ByTheBookAMessageArrivesAndContextsAreTheProviders) {
  ASSERT_EQ(receive(), 0);
  ASSERT_EQ(send('m'), 0);
  ASSERT_TRUE(wait(came, 1) && wait(left, 1));
  EXPECT_EQ(came[0], &receives[0]);
  EXPECT_EQ(left[0], &sends[0]);
  EXPECT_EQ(in[0][0], 'm');
  EXPECT_EQ(sends[0].changed(), GetParam().context_bytes());
  EXPECT_EQ(receives[0].changed(), GetParam().context_bytes());
}

TEST_P(DatagramRules, HintsThatDoNotAgreeToItsDemandsFindNothing) {
  if (GetParam().mode != 0) {
    const InfoPtr hints = hints_for(GetParam());
    hints->mode = 0;
    EXPECT_EQ(offer(*hints), nullptr);
  }
  if (GetParam().mr_mode != 0) {
    const InfoPtr hints = hints_for(GetParam());
    hints->domain_attr->mr_mode = 0;
    EXPECT_EQ(offer(*hints), nullptr);
  }
  const InfoPtr ordered = hints_for(GetParam());
  ordered->tx_attr->msg_order = ordered->rx_attr->msg_order = FI_ORDER_SAS;
  EXPECT_EQ(offer(*ordered) != nullptr, GetParam().orders_sends);
  const InfoPtr connected = hints_for(GetParam());
  connected->ep_attr->type = FI_EP_MSG;
  EXPECT_EQ(offer(*connected), nullptr);
}

TEST_P(DatagramRules, WhatIsInLineIsShort) {
  ASSERT_EQ(receive(), 0);
  ASSERT_EQ(receive(), 0);
  EXPECT_EQ(inject(GetParam().inject_bytes + 1), -FI_EINVAL);
  EXPECT_EQ(inject(16), 0) << "as the smallest provider takes it";
  EXPECT_TRUE(wait(came, 1));
  EXPECT_TRUE(left.empty()) << "nobody is told of it";
}

TEST_P(DatagramRules, MessagesBeforeTheirBuffersAreRefused) {
  EXPECT_EQ(send('n'), -FI_EINVAL);
  EXPECT_EQ(inject(8), -FI_EINVAL);
  ASSERT_EQ(receive(), 0);
  EXPECT_EQ(send('m'), 0);
  EXPECT_EQ(send('n'), -FI_EINVAL) << "the buffer is for the first";
  EXPECT_TRUE(wait(came, 1));
}

TEST_P(DatagramRules, MessagesOvertakeEachOtherWhereThereIsNoOrder) {
  for (std::size_t i = 0; i < kMessages; ++i) ASSERT_EQ(receive(), 0);
  for (std::size_t i = 0; i < kMessages; ++i) ASSERT_EQ(send(static_cast<char>('a' + i)), 0);
  ASSERT_TRUE(wait(came, kMessages));
  std::string order;
  for (void* const context : came) {
    for (std::size_t i = 0; i < receives.size(); ++i) {
      if (&receives[i] == context) order += in[i][0];
    }
  }
  EXPECT_EQ(order == "abcdef", GetParam().orders_sends) << order;
}

TEST_P(DatagramRules, AnAddressThatIsSentToIsNotRemoved) {
  looks_at_sends = false;
  ASSERT_EQ(receive(), 0);
  ASSERT_EQ(send('m'), 0);
  ASSERT_TRUE(wait(came, 1));
  EXPECT_EQ(fi_av_remove(a->addresses.get(), &to_b, 1, 0), -FI_EINVAL);
  looks_at_sends = true;
  ASSERT_TRUE(wait(left, 1));
  EXPECT_EQ(fi_av_remove(a->addresses.get(), &to_b, 1, 0), 0);
}

std::vector<Persona> datagrams() {
  std::vector<Persona> out;
  for (const Persona& each : kPersonas) {
    if (each.type == FI_EP_RDM) out.push_back(each);
  }
  return out;
}

INSTANTIATE_TEST_SUITE_P(Personas, DatagramRules, ::testing::ValuesIn(datagrams()),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace mad::strict
