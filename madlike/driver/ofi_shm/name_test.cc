#include "madlike/driver/ofi_shm/name.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <string>

#include "gtest/gtest.h"

namespace mad {
namespace {

std::string new_name() {
  static int number = 0;
  return "mad-name-test-" + std::to_string(getpid()) + "-" + std::to_string(number++);
}

TcpSocket make(const std::string& name) {
  return TcpSocket(shm_open(name.c_str(), O_RDWR | O_CREAT | O_EXCL, 0600));
}

TEST(OfiShmName, IsRemovedOnceAndMemoryThatIsOpenStays) {
  OfiShmName name(new_name());
  const std::string text = name.text();
  const TcpSocket object = make(text);
  ASSERT_TRUE(object) << errno;
  EXPECT_EQ(reserve_shared(object.fd(), 8), 0);
  EXPECT_TRUE(open_shared(text));
  name.remove();
  EXPECT_FALSE(open_shared(text));
  EXPECT_EQ(pwrite(object.fd(), "still", 5, 0), 5);

  const OfiShmName next(text);
  const TcpSocket others = make(text);  // of the same name
  name.remove();
  EXPECT_TRUE(open_shared(text)) << "the name was removed twice";
}

TEST(OfiShmName, IsItsLastOwnersToRemove) {
  const std::string text = new_name();
  const TcpSocket object = make(text);
  {
    OfiShmName first(text);
    {
      const OfiShmName second(std::move(first));
      EXPECT_EQ(second.text(), text);
      EXPECT_TRUE(open_shared(text));
    }
    EXPECT_FALSE(open_shared(text));
  }
}

TEST(OpenShared, TakesNothingThatOthersMayWriteTo) {
  const OfiShmName name(new_name());
  const TcpSocket object = make(name.text());
  ASSERT_TRUE(object) << errno;
  EXPECT_TRUE(open_shared(name.text()));
  for (const mode_t mode : {0620, 0602, 0666}) {
    ASSERT_EQ(fchmod(object.fd(), mode), 0);
    EXPECT_FALSE(open_shared(name.text())) << mode;
    EXPECT_EQ(errno, EACCES) << mode;
  }
  ASSERT_EQ(fchmod(object.fd(), 0600), 0);
  EXPECT_TRUE(open_shared(name.text()));
  if (fchown(object.fd(), 65534, 65534) == 0) {  // another user's, which not everybody can make it
    EXPECT_FALSE(open_shared(name.text()));
  }
  EXPECT_FALSE(open_shared("mad-nobody"));
}

TEST(ReserveShared, TakesTheMemoryOrSaysWhyNot) {
  const OfiShmName name(new_name());
  const TcpSocket object = make(name.text());
  ASSERT_TRUE(object) << errno;
  ASSERT_EQ(reserve_shared(object.fd(), 100000), 0);
  struct stat status {};
  ASSERT_EQ(fstat(object.fd(), &status), 0);
  EXPECT_EQ(status.st_size, 100000);
  EXPECT_GE(status.st_blocks * 512, 100000);
  EXPECT_EQ(reserve_shared(-1, 1), EBADF);
}

}  // namespace
}  // namespace mad
