#include "netmod/abi/after_fork.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <vector>

namespace mad {
namespace {

bool is_open(int fd) { return fcntl(fd, F_GETFD) != -1; }

void watch(int set, int fd) {
  epoll_event event{};
  event.events = EPOLLIN;
  ASSERT_EQ(epoll_ctl(set, EPOLL_CTL_ADD, fd, &event), 0);
}

class Inherited : public ::testing::Test {
 protected:
  // What the child says, of which a test makes its exit status.
  template <typename Child>
  int in_child(const Child& child) {
    const pid_t pid = fork();
    if (pid == 0) _exit(child());
    int status = -1;
    EXPECT_EQ(waitpid(pid, &status, 0), pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
  int make(int fd) {
    made_.push_back(fd);
    return fd;
  }
  void TearDown() override {
    for (const int fd : made_) close(fd);
  }

 private:
  std::vector<int> made_;
};

TEST_F(Inherited, AChildClosesWhatTheSetsWatchAndNothingElse) {
  const int outer = make(epoll_create1(0)), inner = make(epoll_create1(0));
  std::vector<int> watched;
  for (int i = 0; i < 100; ++i) {  // more than are read at once
    int ends[2];
    ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    watched.push_back(make(ends[0]));
    watch(i % 2 == 0 ? outer : inner, ends[0]);
    make(ends[1]);
  }
  watch(outer, inner);
  const int other = make(dup(watched[0] + 1));
  const int code = in_child([&] {
    close_inherited(outer);
    for (const int fd : watched) {
      if (is_open(fd)) return 1;
    }
    return is_open(outer) || is_open(inner) || !is_open(other) ? 2 : 0;
  });
  EXPECT_EQ(code, 0);
  char byte = 'x';
  ASSERT_EQ(write(other, &byte, 1), 1);
  epoll_event event{};
  EXPECT_EQ(epoll_wait(outer, &event, 1, 0), 1) << "the parent's set watches on";
}

// A set goes on to list a socket that is closed here and open in another process.
TEST_F(Inherited, ANumberThatIsUsedAgainStaysOpen) {
  const int set = make(epoll_create1(0));
  int ends[2], wait[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
  ASSERT_EQ(pipe(wait), 0);
  make(ends[1]);
  make(wait[0]);
  watch(set, ends[0]);
  const pid_t holder = fork();
  if (holder == 0) {
    char byte;
    close(wait[1]);
    _exit(read(wait[0], &byte, 1) == 0 ? 0 : 1);
  }
  close(ends[0]);
  const int again = make(open("/dev/null", O_RDONLY));
  ASSERT_EQ(again, ends[0]);
  EXPECT_EQ(in_child([&] {
              close_inherited(set);
              return is_open(again) ? 0 : 1;
            }),
            0);
  close(wait[1]);
  int status = -1;
  EXPECT_EQ(waitpid(holder, &status, 0), holder);
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace mad
