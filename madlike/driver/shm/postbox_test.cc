#include "madlike/driver/shm/postbox.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "madlike/driver/door/handshake.h"
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
  /// Somebody who has connected and says nothing.
  ShmFile caller() const {
    ShmFile silent(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
    EXPECT_EQ(connect(silent.fd(), letters_.address(), letters_.size()), 0);
    return silent;
  }
  DoorSecret secret_ = random_secret();
  Result<ShmPostbox> box_ = ShmPostbox::open(secret_);
  ShmSocketName letters_{secret_, Of::kLetters}, wakes_{secret_, Of::kWakes};
  ShmPostbox::Letter letter_;
};

TEST_F(Postbox, ALetterSaysWhoseItIsAndBringsAFile) {
  ASSERT_TRUE(box_.ok()) << box_.status().message();
  EXPECT_FALSE(box_->receive(&letter_));
  EXPECT_FALSE(readable(box_->letters_fd()));
  int pipes[2];
  ASSERT_EQ(pipe(pipes), 0);
  ASSERT_TRUE(ShmPostbox::send(letters_, "hello", 5, pipes[1]).ok());
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
  ASSERT_TRUE(ShmPostbox::send(letters_, "2", 1).ok());
  ASSERT_TRUE(box_->receive(&letter_));
  EXPECT_FALSE(letter_.file) << "that of the letter before";
  close(pipes[0]);
  close(pipes[1]);
}

TEST_F(Postbox, ManyLettersWaitForWhoDoesNotLook) {
  constexpr unsigned kLetters = 200;
  for (unsigned i = 0; i < kLetters; ++i) {
    ASSERT_TRUE(ShmPostbox::send(letters_, &i, sizeof(i)).ok()) << i;
  }
  for (unsigned i = 0; i < kLetters; ++i) {
    ASSERT_TRUE(box_->receive(&letter_));
    unsigned number = 0;
    std::memcpy(&number, letter_.bytes.data(), sizeof(number));
    EXPECT_EQ(number, i);
  }
  EXPECT_FALSE(box_->receive(&letter_));
}

// Between its two calls a sender may lose its core.
TEST_F(Postbox, WhoSendsLaterThanItConnectsIsHeard) {
  const ShmFile slow = caller(), silent = caller();
  EXPECT_FALSE(box_->receive(&letter_));
  EXPECT_TRUE(box_->expects_letter());
  ASSERT_EQ(send(slow.fd(), "late", 4, MSG_NOSIGNAL), 4);
  ASSERT_TRUE(box_->receive(&letter_));
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(letter_.bytes.data()), letter_.size), "late");
  EXPECT_EQ(letter_.pid, getpid());
  for (int i = 0; i < 2000; ++i) EXPECT_FALSE(box_->receive(&letter_));
  EXPECT_FALSE(box_->expects_letter()) << "who says nothing is not waited for";
}

// So many that say nothing do not take all files that there are.
TEST_F(Postbox, WhoConnectsAfterManySilentOnesIsHeardWhenTheyAreGivenUp) {
  std::vector<ShmFile> silent;
  for (std::size_t i = 0; i < ShmPostbox::kMostCallers; ++i) silent.push_back(caller());
  ASSERT_TRUE(ShmPostbox::send(letters_, "x", 1).ok());
  EXPECT_FALSE(box_->receive(&letter_));
  int looks = 1;
  while (looks <= ShmPostbox::kMostLooks && !box_->receive(&letter_)) ++looks;
  EXPECT_LE(looks, ShmPostbox::kMostLooks);
  EXPECT_EQ(letter_.size, 1u);
  EXPECT_FALSE(box_->expects_letter());
}

TEST_F(Postbox, WhoHangsUpWithoutALetterIsForgotten) {
  for (const int of_an_earlier_call : {EINTR, EAGAIN}) {
    caller().reset();
    errno = of_an_earlier_call;
    EXPECT_FALSE(box_->receive(&letter_));
    EXPECT_FALSE(box_->expects_letter());
  }
  ShmFile later = caller();
  EXPECT_FALSE(box_->receive(&letter_));
  EXPECT_TRUE(box_->expects_letter());
  later.reset();
  EXPECT_FALSE(box_->receive(&letter_));
  EXPECT_FALSE(box_->expects_letter());
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
    EXPECT_EQ(ShmPostbox::send(letters_, "x", 1).code(), StatusCode::kNoMemory);
  }
  ASSERT_TRUE(ShmPostbox::send(letters_, "x", 1).ok());
  {
    const NoFiles none;
    EXPECT_FALSE(box_->receive(&letter_));
  }
  EXPECT_TRUE(box_->receive(&letter_));
}

TEST_F(Postbox, LongLettersAreCut) {
  char bytes[2 * ShmPostbox::kMostBytes] = {};
  ASSERT_TRUE(ShmPostbox::send(letters_, bytes, sizeof(bytes)).ok());
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

TEST_F(Postbox, NobodyIsUnreachable) {
  const DoorSecret nobody = random_secret();
  EXPECT_EQ(ShmPostbox::send(ShmSocketName(nobody, Of::kLetters), "x", 1).code(),
            StatusCode::kUnreachable);
  EXPECT_EQ(box_->wake(ShmSocketName(nobody, Of::kWakes)).code(), StatusCode::kUnreachable);
}

TEST_F(Postbox, ANameIsTakenOnce) { EXPECT_FALSE(ShmPostbox::open(secret_).ok()); }

}  // namespace
}  // namespace mad
