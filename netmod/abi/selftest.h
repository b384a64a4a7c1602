// selftest: whether a fabric works here, found out by using it.
#ifndef NETMOD_ABI_SELFTEST_H_
#define NETMOD_ABI_SELFTEST_H_

#include <chrono>
#include <memory>

#include "madlike/base/status.h"
#include "madlike/driver/driver.h"

namespace mad {

/// Two engines of one fabric, that this process opened for nothing else, connect.  Each sends the
/// other packets and, where there are remote writes, writes into its memory, and every byte is
/// compared.  An error says what did not work, or what had not come about within `limit`; how long
/// a call of the drivers takes is not bounded.  They are closed then.
Status self_test(std::unique_ptr<Driver> one, std::unique_ptr<Driver> other,
                 std::chrono::milliseconds limit);

}  // namespace mad

#endif  // NETMOD_ABI_SELFTEST_H_
