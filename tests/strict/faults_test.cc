// The six faults that a driver made on tcp has on RDMA hardware, planted one by one, and others.
#include "tests/strict/user.h"

namespace mad::strict {
namespace {

class Faults : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { play("verbs"); }
};

class Connected : public Faults {
 protected:
  void SetUp() override { a.connect(b); }
  User a, b;
};

TEST_F(Connected, ByTheBookBytesArriveAndAreWritten) {
  std::memcpy(a.memory.data(), "packet", 7);
  ASSERT_EQ(b.receive(&b), 0);
  ASSERT_EQ(a.send(7, a.descriptor()), 0);
  fi_cq_data_entry entry{};
  ASSERT_TRUE(b.complete(&entry, a));
  EXPECT_EQ(entry.op_context, &b);
  EXPECT_EQ(entry.len, 7u);
  EXPECT_EQ(entry.flags & FI_REMOTE_CQ_DATA, 0u) << "none was sent";
  EXPECT_STREQ(b.in(), "packet");
  ASSERT_TRUE(a.complete(&entry, b));
  EXPECT_EQ(entry.op_context, a.sent_last);

  std::memcpy(a.memory.data(), "written", 8);
  iovec from{a.memory.data(), 8};
  void* descriptor = a.descriptor();
  const fi_rma_iov to{reinterpret_cast<std::uint64_t>(b.in()), 8, fi_mr_key(b.region.get())};
  fi_msg_rma write{};
  write.msg_iov = &from;
  write.desc = &descriptor;
  write.iov_count = 1;
  write.rma_iov = &to;
  write.rma_iov_count = 1;
  write.context = &write;
  ASSERT_EQ(fi_writemsg(a.connection.get(), &write, FI_COMPLETION), 0);
  ASSERT_TRUE(a.complete(&entry, b));
  EXPECT_EQ(entry.op_context, &write);
  for (int i = 0; i < 1000000 && std::strcmp(b.in(), "written") != 0; ++i) b.look();
  EXPECT_STREQ(b.in(), "written");
}

// The first: what is agreed to when the provider is asked for.
TEST_F(Faults, HintsThatDoNotAgreeToItsDemandsFindNothing) {
  EXPECT_NE(offer(*right_hints()), nullptr);
  for (const int missing : {FI_MR_LOCAL, FI_MR_VIRT_ADDR, FI_MR_ALLOCATED, FI_MR_PROV_KEY}) {
    const InfoPtr hints = right_hints();
    hints->domain_attr->mr_mode &= ~missing;
    EXPECT_EQ(offer(*hints), nullptr) << missing;
  }
  const InfoPtr without_mode = right_hints();
  without_mode->mode = 0;
  EXPECT_EQ(offer(*without_mode), nullptr);
  EXPECT_NE(offer(*right_hints(4)), nullptr);
  EXPECT_EQ(offer(*right_hints(8)), nullptr);
  setenv("FI_STRICT_AS", "iwarp", 1);
  EXPECT_EQ(offer(*right_hints(4)), nullptr);
  EXPECT_NE(offer(*right_hints(0)), nullptr);
  setenv("FI_STRICT_AS", "verbs", 1);
}

TEST_F(Connected, DataBeyondTheirBytesAreRefused) {
  ASSERT_EQ(b.receive(&b), 0);
  EXPECT_EQ(a.send(8, a.descriptor(), FI_REMOTE_CQ_DATA, 1ull << 32), -FI_EINVAL);
  EXPECT_EQ(a.send(8, a.descriptor(), FI_REMOTE_CQ_DATA, 0xffffffffu), 0);
  fi_cq_data_entry entry{};
  ASSERT_TRUE(b.complete(&entry, a));
  EXPECT_NE(entry.flags & FI_REMOTE_CQ_DATA, 0u);
  EXPECT_EQ(entry.data, 0xffffffffu);
}

// The second: memory without a descriptor.
TEST_F(Connected, SegmentsOutsideOfRegionsAreRefused) {
  ASSERT_EQ(b.receive(&b), 0);
  EXPECT_EQ(a.send(8, nullptr), -FI_EINVAL);
  EXPECT_EQ(a.send({a.memory.data() + a.memory.size() - 4, 8}, a.descriptor()), -FI_EINVAL);
  char elsewhere[8] = {};
  EXPECT_EQ(a.send({elsewhere, 8}, a.descriptor()), -FI_EINVAL);
  EXPECT_EQ(a.send(8, nullptr, FI_INJECT), 0);
  EXPECT_EQ(a.send(65, nullptr, FI_INJECT), -FI_EINVAL);
  EXPECT_EQ(fi_recv(b.receives.get(), elsewhere, 8, nullptr, FI_ADDR_UNSPEC, elsewhere),
            -FI_EINVAL);
}

// The third: greetings that do not fit.
TEST_F(Faults, GreetingsOfMoreThanTheirBytesAreRefused) {
  User a, b;
  const InfoPtr to = a.towards(b);
  const FidPtr<fid_ep> endpoint = a.endpoint(to.get());
  std::array<char, 56> greeting{};
  EXPECT_EQ(fi_connect(endpoint.get(), to->dest_addr, greeting.data(), 56), -FI_EINVAL);
  std::size_t most = 0, size = sizeof(most);
  EXPECT_EQ(fi_getopt(&endpoint->fid, FI_OPT_ENDPOINT, FI_OPT_CM_DATA_SIZE, &most, &size), 0);
  EXPECT_EQ(most, 55u);
  ASSERT_EQ(fi_connect(endpoint.get(), to->dest_addr, greeting.data(), 55), 0);
  const InfoPtr request = b.event(FI_CONNREQ, a);
  ASSERT_NE(request, nullptr);
  EXPECT_EQ(fi_reject(b.listener.get(), request->handle, greeting.data(), 56), -FI_EINVAL);
  const FidPtr<fid_ep> accepted = b.endpoint(request.get());
  EXPECT_EQ(fi_accept(accepted.get(), greeting.data(), 56), -FI_EINVAL);
  EXPECT_EQ(fi_accept(accepted.get(), greeting.data(), 55), 0);
}

// The fourth: endpoints that do not say where they go.
TEST_F(Faults, EndpointsWithoutDestinationAreNotOpened) {
  User a;
  fid_ep* none = nullptr;
  EXPECT_EQ(fi_endpoint(a.domain.get(), a.info.get(), &none, nullptr), -FI_EINVAL);
}

// The fifth: messages that find no buffer.
TEST_F(Connected, MessagesBeforeTheirBuffersAreRefused) {
  EXPECT_EQ(a.send(8, a.descriptor()), -FI_EINVAL);
  ASSERT_EQ(b.receive(&b), 0);
  EXPECT_EQ(a.send(8, a.descriptor()), 0);
  EXPECT_EQ(a.send(8, a.descriptor()), -FI_EINVAL) << "the buffer is for the first";
  fi_cq_data_entry entry{};
  ASSERT_TRUE(b.complete(&entry, a));
  EXPECT_EQ(a.send(8, a.descriptor()), -FI_EINVAL) << "not posted again";
  ASSERT_EQ(b.receive(&b), 0);
  EXPECT_EQ(a.send(8, a.descriptor()), 0);
}

// The sixth: regions that are closed too early, or not at all.
TEST_F(Connected, RegionsInUseAreNotClosed) {
  ASSERT_EQ(b.receive(&b), 0);
  EXPECT_EQ(fi_close(&b.region->fid), -FI_EINVAL);
  ASSERT_EQ(a.send(8, a.descriptor()), 0);
  EXPECT_EQ(fi_close(&a.region->fid), -FI_EINVAL);
  fi_cq_data_entry entry{};
  ASSERT_TRUE(b.complete(&entry, a));
  ASSERT_TRUE(a.complete(&entry, b));
  void* const closed = a.descriptor();
  EXPECT_EQ(fi_close(&a.region.release()->fid), 0);
  EXPECT_EQ(a.send(8, closed), -FI_EINVAL);
}

}  // namespace
}  // namespace mad::strict
