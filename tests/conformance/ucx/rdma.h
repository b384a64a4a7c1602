// Engines of tests of the ucx driver on an RDMA device.  Without one their tests are skipped.
#ifndef TESTS_CONFORMANCE_UCX_RDMA_H_
#define TESTS_CONFORMANCE_UCX_RDMA_H_

#include <dirent.h>

#include <fstream>
#include <memory>
#include <string>

#include "tests/conformance/ucx/engine.h"

namespace mad {

/// The network interface of the first RDMA device; empty: there is no device; "lo": it has none.
inline std::string rdma_interface() {
  const std::string root = "/sys/class/infiniband";
  const std::unique_ptr<DIR, int (*)(DIR*)> all(opendir(root.c_str()), closedir);
  std::string device;
  while (const dirent* const each = all ? readdir(all.get()) : nullptr) {
    if (each->d_name[0] != '.') device = each->d_name;
  }
  if (device.empty()) return "";
  std::string interface;
  std::ifstream(root + "/" + device + "/ports/1/gid_attrs/ndevs/0") >> interface;
  return interface.empty() ? "lo" : interface;
}

/// The fabric of this name, for engines of this host.
inline UcxOptions over_rdma(const std::string& fabric) {
  return *ucx_options(fabric, rdma_interface());
}

/// Skips all tests of a program where there is no device.
class NeedsRdmaDevice : public ::testing::Environment {
 public:
  void SetUp() override {
    if (rdma_interface().empty()) GTEST_SKIP() << "no RDMA device in /sys/class/infiniband";
  }
};
inline ::testing::Environment* const kNeedsRdmaDevice =
    ::testing::AddGlobalTestEnvironment(new NeedsRdmaDevice);

}  // namespace mad

#endif  // TESTS_CONFORMANCE_UCX_RDMA_H_
