#include "madlike/driver/shm/postbox.h"

#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <set>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "madlike/driver/door/handshake.h"
#include "madlike/driver/shm/connection.h"
#include "tests/support/lack.h"

namespace mad {
namespace {

using Of = ShmSocketName::Of;

class Postbox : public ::testing::Test {
 protected:
  static bool readable(int fd) {
    pollfd one{fd, POLLIN, 0};
    return ::poll(&one, 1, 0) > 0;
  }
  DoorSecret secret_ = random_secret();
  Result<ShmPostbox> box_ = ShmPostbox::open(secret_);
  ShmSocketName wakes_{secret_, Of::kWakes};
  ShmPostbox::Letter letter_;
};

TEST_F(Postbox, ALetterSaysWhoseItIsAndBringsAFile) {
  ASSERT_TRUE(box_.ok()) << box_.status().message();
  EXPECT_FALSE(box_->receive(&letter_));
  EXPECT_FALSE(readable(box_->letters_fd()));
  int pipes[2];
  ASSERT_EQ(pipe(pipes), 0);
  ASSERT_TRUE(box_->send(secret_, "hello", 5, pipes[1]).ok());
  EXPECT_TRUE(readable(box_->letters_fd()));
  ASSERT_TRUE(box_->receive(&letter_));
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(letter_.bytes.data()), letter_.size),
            "hello");
  EXPECT_EQ(letter_.pid, getpid());
  EXPECT_EQ(letter_.uid, getuid());
  ASSERT_TRUE(letter_.file);
  EXPECT_EQ(write(letter_.file.fd(), "x", 1), 1);
  char byte = 0;
  EXPECT_EQ(read(pipes[0], &byte, 1), 1);
  ASSERT_TRUE(box_->send(secret_, "2", 1).ok());
  ASSERT_TRUE(box_->receive(&letter_));
  EXPECT_FALSE(letter_.file) << "that of the letter before";
  close(pipes[0]);
  close(pipes[1]);
}

// Many processes write before one looks; each of them to a box of its own choice.
TEST_F(Postbox, ManyLettersWaitForWhoDoesNotLook) {
  enum { kWritten, kFull, kFailed };
  constexpr unsigned kSenders = 40;
  unsigned written = 0;
  for (unsigned i = 0; i < kSenders; ++i) {
    const pid_t sender = fork();
    if (sender == 0) {
      const pid_t number = getpid();
      const Status sent = box_->send(secret_, &number, sizeof(number));
      _exit(sent.ok() ? kWritten : sent.again() ? kFull : kFailed);
    }
    int status = -1;
    ASSERT_EQ(waitpid(sender, &status, 0), sender);
    ASSERT_TRUE(WIFEXITED(status));
    ASSERT_NE(WEXITSTATUS(status), kFailed) << "letter " << i;
    if (WEXITSTATUS(status) == kWritten) ++written;
  }
  EXPECT_GT(written, kSenders / 2) << "more than one box has room for";
  std::set<pid_t> senders;
  while (box_->receive(&letter_)) {
    pid_t number = 0;
    std::memcpy(&number, letter_.bytes.data(), sizeof(number));
    EXPECT_EQ(letter_.pid, number);
    senders.insert(number);
  }
  EXPECT_EQ(senders.size(), written);
}

// In the order in which they were sent, and whoever finds no room tries again.
TEST_F(Postbox, OneSendersLettersHaveABound) {
  auto other = ShmPostbox::open(random_secret());
  ASSERT_TRUE(other.ok());
  unsigned sent = 0;
  Status last;
  while (sent < 10000 && last.ok()) {
    last = other->send(secret_, &sent, sizeof(sent));
    if (last.ok()) ++sent;
  }
  EXPECT_TRUE(last.again()) << sent << " letters";
  EXPECT_GE(sent, 2u);
  for (unsigned i = 0; i < sent; ++i) {
    ASSERT_TRUE(box_->receive(&letter_));
    unsigned number = 0;
    std::memcpy(&number, letter_.bytes.data(), sizeof(number));
    EXPECT_EQ(number, i);
  }
  EXPECT_FALSE(box_->receive(&letter_));
  EXPECT_TRUE(other->send(secret_, "x", 1).ok());
}

TEST_F(Postbox, WithoutFilesThereMayBeOneLater) {
  const DoorSecret secret = random_secret();
  for (const rlim_t spare : {0, 1}) {
    const NoFiles none(spare);
    EXPECT_EQ(ShmPostbox::open(secret).status().code(), StatusCode::kNoMemory);
  }
  EXPECT_TRUE(ShmPostbox::open(secret).ok());
  {
    const NoFiles none;
    ASSERT_TRUE(box_->send(secret_, "x", 1, 0).ok());
    ASSERT_TRUE(box_->receive(&letter_));
    EXPECT_FALSE(letter_.file);
  }
  ASSERT_TRUE(box_->send(secret_, "x", 1, 0).ok());
  ASSERT_TRUE(box_->receive(&letter_));
  EXPECT_TRUE(letter_.file);
}

TEST_F(Postbox, LongLettersAreCut) {
  char bytes[2 * ShmPostbox::kMostBytes] = {};
  ASSERT_TRUE(box_->send(secret_, bytes, sizeof(bytes)).ok());
  ASSERT_TRUE(box_->receive(&letter_));
  EXPECT_LE(letter_.size, ShmPostbox::kMostBytes);
}

TEST_F(Postbox, WakesAreForgottenOnceTaken) {
  auto other = ShmPostbox::open(random_secret());
  ASSERT_TRUE(other.ok());
  for (int i = 0; i < 100; ++i) {
    const Status woken = other->wake(wakes_);
    EXPECT_TRUE(woken.ok() || woken.again());
  }
  EXPECT_TRUE(readable(box_->wakes_fd()));
  box_->take_wakes();
  EXPECT_FALSE(readable(box_->wakes_fd()));
}

// What waits to be read is its sender's to bear: those that compute must cost us no wake-up.
TEST_F(Postbox, WhoLooksForPeersLeavesNothingWithThem) {
  auto own = ShmPostbox::open(random_secret());
  ASSERT_TRUE(own.ok());
  std::vector<ShmFile> busy;
  for (int peer = 0; peer < 100; ++peer) {
    const DoorSecret secret = random_secret();
    const ShmSocketName name(secret, Of::kWakes);
    busy.emplace_back(socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    ASSERT_EQ(bind(busy.back().fd(), name.address(), name.size()), 0);
    ShmPeerWaker waker(*own, secret);
    for (int look = 0; look < 10; ++look) EXPECT_TRUE(waker.is_there());
    EXPECT_FALSE(readable(busy.back().fd()));
  }
  ASSERT_TRUE(own->wake(wakes_).ok());
  EXPECT_TRUE(readable(box_->wakes_fd()));
}

TEST_F(Postbox, WhoHasLeftIsNotThere) {
  auto own = ShmPostbox::open(random_secret());
  ASSERT_TRUE(own.ok());
  ShmPeerWaker waker(*own, secret_);
  EXPECT_TRUE(waker.is_there());
  box_ = Result<ShmPostbox>(StatusCode::kClosed);
  EXPECT_FALSE(waker.is_there());
  box_ = ShmPostbox::open(secret_);
  ASSERT_TRUE(box_.ok());
  EXPECT_TRUE(waker.is_there());
}

TEST_F(Postbox, NobodyIsUnreachable) {
  const DoorSecret nobody = random_secret();
  EXPECT_EQ(box_->send(nobody, "x", 1).code(), StatusCode::kUnreachable);
  EXPECT_EQ(box_->wake(ShmSocketName(nobody, Of::kWakes)).code(), StatusCode::kUnreachable);
}

TEST_F(Postbox, ANameIsTakenOnce) { EXPECT_FALSE(ShmPostbox::open(secret_).ok()); }

}  // namespace
}  // namespace mad
