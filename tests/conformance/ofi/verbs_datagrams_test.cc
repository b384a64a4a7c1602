// The conformance suite on libfabric's reliable datagrams over an RDMA device.
#include <cstdint>

#include "madlike/driver/rdma/obstacles.h"
#include "tests/conformance/driver_conformance.h"
#include "tests/conformance/ofi/verbs_host.h"

namespace mad {
namespace {

constexpr const char* kProvider = "verbs+ofi_rxm";

// What two engines of this layer in one process lock, whatever they are told of peers, queues and
// buffers: with 48 MiB connections fail for want of memory, with 128 none does.
constexpr std::uint64_t kLocked = std::uint64_t{128} << 20;

class LockingHost : public VerbsHost {
 public:
  void SetUp() override {
    VerbsHost::SetUp();
    const std::uint64_t lockable = lockable_bytes();
    if (::testing::Test::IsSkipped() || lockable >= kLocked) return;
    GTEST_SKIP() << "libfabric's ofi_rxm locks more than the " << locked_text(lockable)
                 << " that this user may; the test wants " << locked_text(kLocked);
  }
};

const auto* const kHost = ::testing::AddGlobalTestEnvironment(new LockingHost);

DriverFactory factory() {
  DriverFactory factory;
  factory.name = "verbs_ofi_rxm";
  factory.make = [] {
    DriverPair pair;
    pair.a = open_verbs(kProvider);
    pair.b = open_verbs(kProvider);
    return pair;
  };
  factory.nobody = [](const DriverPair&) {
    return std::vector<std::byte>(open_verbs(kProvider)->address());
  };
  return factory;
}

INSTANTIATE_TEST_SUITE_P(Rdm, DriverConformance, ::testing::Values(factory()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace mad
