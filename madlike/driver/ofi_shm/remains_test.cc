#include "madlike/driver/ofi_shm/remains.h"

#include <unistd.h>

#include <string>
#include <utility>

#include "gtest/gtest.h"

namespace mad {
namespace {

/// An endpoint, and whether it is still there.
struct Made {
  explicit Made(const std::shared_ptr<OfiShmFabric>& fabric) {
    static int number = 0;
    name = "mad-remains-test-" + std::to_string(getpid()) + "-" + std::to_string(number++);
    auto opened = OfiShmEndpoint::open(fabric, name, 65 * 1024);
    EXPECT_TRUE(opened.ok()) << opened.status().message();
    if (opened.ok()) endpoint = std::move(*opened);
  }
  bool stands() const { return access(("/dev/shm/" + name).c_str(), F_OK) == 0; }

  std::string name;
  std::unique_ptr<OfiShmEndpoint> endpoint;
};

TEST(Remains, AreClosedWhenBothSidesHaveEnded) {
  auto opened = OfiShmFabric::open();
  ASSERT_TRUE(opened.ok()) << opened.status().message();
  const std::shared_ptr<OfiShmFabric> fabric = std::move(*opened);
  Made a(fabric), b(fabric), other(fabric);
  constexpr std::uint64_t kSecret = 0x5EC2E7;
  leave_to_the_other_side(kSecret, std::move(a.endpoint));
  EXPECT_TRUE(a.stands()) << "the other side may be receiving from it";
  leave_to_the_other_side(kSecret + 1, std::move(other.endpoint));
  EXPECT_TRUE(a.stands()) << "that was another connection";
  leave_to_the_other_side(kSecret, std::move(b.endpoint));
  EXPECT_FALSE(a.stands());
  EXPECT_FALSE(b.stands());
  EXPECT_TRUE(other.stands());
  leave_to_the_other_side(kSecret + 1, nullptr);  // it had not opened one
  EXPECT_FALSE(other.stands());
}

}  // namespace
}  // namespace mad
