// What tests on an RDMA device share: they are skipped where there is none.
#ifndef TESTS_CONFORMANCE_OFI_VERBS_HOST_H_
#define TESTS_CONFORMANCE_OFI_VERBS_HOST_H_

#include <cstdlib>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

#include "gtest/gtest.h"
#include "madlike/driver/ofi/ofi.h"

namespace mad {

/// On the first RDMA device that has an IP address.
inline Result<std::unique_ptr<Driver>> try_open_verbs(const char* provider = "verbs") {
  OfiOptions options;
  options.provider = provider;
  return open_ofi(options);
}

/// `provider`: verbs, or with layers of libfabric's.
inline std::unique_ptr<Driver> open_verbs(const char* provider = "verbs") {
  auto driver = try_open_verbs(provider);
  if (!driver.ok()) throw std::runtime_error(std::string(driver.status().message()));
  return std::move(*driver);
}

/// To be added to GoogleTest's environments.
class VerbsHost : public ::testing::Environment {
 public:
  void SetUp() override {
    const auto driver = try_open_verbs();
    if (driver.ok() || driver.status().code() != StatusCode::kNotFound) return;
    ASSERT_EQ(std::getenv("MAD_TEST_NEEDS_VERBS"), nullptr) << driver.status().message();
    GTEST_SKIP() << driver.status().message();
  }
};

}  // namespace mad

#endif  // TESTS_CONFORMANCE_OFI_VERBS_HOST_H_
