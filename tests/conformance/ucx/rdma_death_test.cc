// A process dies that speaks over an RDMA device: its own connection ends, and others go on.
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/conformance/ucx/rdma.h"

namespace mad {
namespace {

enum class Death {
  kIdle,     // after a packet, everything sent
  kSending,  // in the middle of many packets
  kDeaf      // stopped, while it is sent to
};
struct Case {
  const char* fabric;
  Death death;
};

/// A child that connects to the address it reads from `in` and sends until it dies.
[[noreturn]] void send_from(const Case& its, int in) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  Bytes address(32);
  if (read(in, address.data(), address.size()) < 0) _exit(1);
  auto opened = open_ucx(over_rdma(its.fabric));
  if (!opened.ok()) _exit(1);
  Driver& driver = **opened;
  const auto to = driver.connect(address.data(), address.size());
  std::uint64_t word = 1;
  Bytes packet(3000);
  const Segment first{&word, sizeof(word)}, next{packet.data(), packet.size()};
  Status status = StatusCode::kAgain;
  for (int sent = 0;;) {
    const bool sends = sent == 0 || its.death == Death::kSending;
    if (sends) status = driver.post_send(*to, {sent == 0 ? &first : &next, 1}, nullptr);
    if (sends && !status.again()) ++sent;
    Completion news;
    if (driver.poll(&news, 1) == 1 && news.buffer != nullptr) driver.release(news.buffer);
  }
}

class UcxRdmaDeath : public ::testing::TestWithParam<Case> {};

TEST_P(UcxRdmaDeath, EndsItsOwnConnectionOnly) {
  int pipes[2];
  ASSERT_EQ(pipe(pipes), 0);
  const pid_t child = fork();  // before this process opens UCX
  if (child == 0) send_from(GetParam(), pipes[0]);
  UcxEngine a(over_rdma(GetParam().fabric)), b(over_rdma(GetParam().fabric));
  const std::vector<UcxEngine*> all{&a, &b};
  const ConnectionId to_b = a.connect(b);
  ASSERT_TRUE(pump(all, [&] { return a.station.connected.count(to_b) == 1; }));
  const Bytes address = a.driver->address();
  ASSERT_EQ(::write(pipes[1], address.data(), address.size()),
            static_cast<ssize_t>(address.size()));
  const bool sends = GetParam().death == Death::kSending;
  ASSERT_TRUE(pump(all, [&] { return a.station.received.size() >= (sends ? 100u : 1u); }));
  const ConnectionId of_child = a.station.received[0].connection;
  int accepted = 0;
  Bytes bytes = pattern(3000, 1);
  const Segment segment{bytes.data(), bytes.size()};
  if (GetParam().death == Death::kDeaf) {
    kill(child, SIGSTOP);
    // As much as goes, and what cannot go does not keep b waiting.
    const auto until = Clock::now() + milliseconds(300);
    while (Clock::now() < until) {
      const Status status = a.driver->post_send(of_child, {&segment, 1}, &accepted);
      ASSERT_FALSE(status.error());
      accepted += status.in_progress() ? 1 : 0;
      a.station.poll();
    }
    Bytes word = pattern(8);
    const std::size_t before = b.station.received.size();
    ASSERT_FALSE(send(a, to_b, word, all).error());
    ASSERT_TRUE(pump(all, [&] { return b.station.received.size() == before + 1; }));
  }
  kill(child, SIGKILL);
  ASSERT_EQ(waitpid(child, nullptr, 0), child);
  ASSERT_TRUE(pump(all, [&] { return a.station.disconnected.count(of_child) == 1; }));
  EXPECT_EQ(a.station.disconnected[of_child].code(), StatusCode::kPeerFailed);
  EXPECT_EQ(a.station.finished[&accepted], accepted) << "each has its completion";
  a.driver->disconnect(of_child);
  UcxEngine c(over_rdma(GetParam().fabric));
  const std::vector<UcxEngine*> more{&a, &b, &c};
  const ConnectionId from_b = b.connect(a), from_c = c.connect(a);
  a.station.received.clear();
  for (std::size_t i = 1; i <= 100; ++i) {
    ASSERT_FALSE(send(b, from_b, bytes, more).error());
    ASSERT_FALSE(send(c, from_c, bytes, more).error());
    ASSERT_TRUE(pump(more, [&] { return a.station.received.size() == 2 * i; }));
    ASSERT_EQ(a.station.received.back().bytes, bytes);
  }
  EXPECT_EQ(a.station.disconnected.count(to_b), 0u);
  close(pipes[0]);
  close(pipes[1]);
}

INSTANTIATE_TEST_SUITE_P(
    Rdma, UcxRdmaDeath,
    ::testing::Values(Case{"ucx:rc", Death::kIdle}, Case{"ucx:rc", Death::kSending},
                      Case{"ucx:rc", Death::kDeaf}, Case{"ucx:ud", Death::kIdle},
                      Case{"ucx:ud", Death::kSending}, Case{"ucx:ud", Death::kDeaf}),
    [](const auto& info) {
      const Case& its = info.param;
      const char* how = its.death == Death::kIdle   ? "Idle"
                        : its.death == Death::kDeaf ? "Deaf"
                                                    : "Sending";
      return std::string(its.fabric).substr(4) + how;
    });

}  // namespace
}  // namespace mad
