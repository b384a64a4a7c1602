#include "tests/conformance/pulls/fabrics.h"

#include <stdexcept>
#include <utility>

#include "madlike/driver/shm/driver.h"
#include "madlike/driver/ucx/driver.h"
#include "madlike/driver/ucx/names.h"

namespace mad {
namespace {

std::unique_ptr<Driver> opened(Result<std::unique_ptr<Driver>> driver) {
  if (!driver.ok()) throw std::runtime_error(std::string(driver.status().message()));
  return std::move(*driver);
}

std::unique_ptr<Driver> open_ucx_pulls() {
  UcxOptions options = *ucx_options("ucx:posix,cma", "lo");
  options.least_pull_bytes = 1;
  options.close_timeout = std::chrono::hours(1);
  return opened(open_ucx(options));
}

std::unique_ptr<Driver> open_shm_pulls() {
  ShmOptions options;
  options.single_copy = ShmOptions::SingleCopy::kAlways;
  options.close_timeout = std::chrono::hours(1);
  return opened(open_shm(options));
}

}  // namespace

const std::vector<PullFabric>& pull_fabrics() {
  static const std::vector<PullFabric> all{{"shm", open_shm_pulls, ShmPulls::kMost},
                                           {"ucx_posix_cma", open_ucx_pulls, UcxPulls::kMost}};
  return all;
}

}  // namespace mad
