// Lacks that may pass, here or at the peer: what was sent waits, and nobody is taken for dead.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <memory>

#include "tests/engine/node.h"
#include "tests/support/lack.h"

namespace mad::test {
namespace {

rlim_t lowest_free_file() {
  const int file = dup(0);
  close(file);
  return static_cast<rlim_t>(file);
}

class PassingTrouble : public ::testing::TestWithParam<const char*> {
 protected:
  // What is missing is told there; a test may have no file left for that.
  PassingTrouble() { testing::internal::CaptureStderr(); }

  /// All that a contact needs is seen once.
  static void let_others_meet() {
    Node from(GetParam()), to(GetParam());
    ASSERT_EQ(mad_send_header(from.engine(), from.peer(to), 1, "x", 1), MAD_SUCCESS);
    ASSERT_TRUE(progress_until({&from, &to}, [&] { return !to.arrivals.empty(); }));
    close_together({&from, &to});
  }

  /// `a_` sends to `b_` while there is a lack, which then passes.
  void send_in(std::unique_ptr<Lack> lack) {
    ASSERT_EQ(mad_send_header(a_.engine(), a_.peer(b_), 1, "x", 1), MAD_SUCCESS);
    for (int i = 0; i < 3000; ++i) {
      a_.progress();
      b_.progress();
    }
    lack.reset();
    const bool arrived = progress_until({&a_, &b_}, [&] { return !b_.arrivals.empty(); });
    const std::string said = testing::internal::GetCapturedStderr();
    EXPECT_TRUE(arrived) << said;
    EXPECT_TRUE(a_.departures.empty()) << a_.departures[0].why;
    EXPECT_TRUE(b_.departures.empty()) << b_.departures[0].why;
    close_together({&a_, &b_});
  }
  Node a_{GetParam()}, b_{GetParam()};
};

using OfFiles = PassingTrouble;
TEST_P(OfFiles, IsWaitedFor) {
  // UBSan opens a pipe to look at a type that it has not seen yet.
  let_others_meet();
  send_in(std::make_unique<Lack>(RLIMIT_NOFILE, lowest_free_file()));
}
INSTANTIATE_TEST_SUITE_P(Fabrics, OfFiles, ::testing::ValuesIn(kNetworks), fabric_test_name);

using OfSharedMemory = PassingTrouble;
TEST_P(OfSharedMemory, IsWaitedFor) {
  signal(SIGXFSZ, SIG_IGN);
  send_in(std::make_unique<Lack>(RLIMIT_FSIZE, 128 * 1024));
}
INSTANTIATE_TEST_SUITE_P(Fabrics, OfSharedMemory, ::testing::Values("ucx:posix", "shm"),
                         fabric_test_name);

}  // namespace
}  // namespace mad::test
