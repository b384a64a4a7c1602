// A fabric's driver on lo.  Not netmod/abi's: it loads ucx as a library, where a fuzzer would see
// nothing of what is run.
#ifndef TESTS_FUZZ_FUZZED_FABRIC_H_
#define TESTS_FUZZ_FUZZED_FABRIC_H_

#include <memory>
#include <string>

#include "madlike/driver/driver.h"
#include "madlike/driver/ofi/ofi.h"
#include "madlike/driver/shm/shm.h"
#include "madlike/driver/tcp/tcp.h"
#include "madlike/driver/ucx/names.h"
#include "madlike/driver/ucx/ucx.h"

namespace mad::test {

/// "tcp", "ofi:tcp", "shm", or one of ucx's.
inline Result<std::unique_ptr<Driver>> open_on_lo(const std::string& fabric) {
  if (is_ucx(fabric)) return open_ucx(*ucx_options(fabric, "lo"));
  if (fabric == "shm") {
    ShmOptions options;
    options.single_copy = ShmOptions::SingleCopy::kAlways;  // for its writes
    return open_shm(options);
  }
  if (fabric == "ofi:tcp") {
    OfiOptions options;
    options.interface = "lo";
    return open_ofi(options);
  }
  TcpOptions options;
  options.interface = "lo";
  return open_tcp(options);
}

}  // namespace mad::test

#endif  // TESTS_FUZZ_FUZZED_FABRIC_H_
