// What `info` says of RDMA devices.
#ifndef PERF_INFO_RDMA_H_
#define PERF_INFO_RDMA_H_

#include <string>

#include "madlike/driver/rdma/obstacles.h"

namespace info {

/// Lines: each device with its ports and what is in the way of using it, what this process may
/// lock, and which drivers the verbs library has.  `root` stands before /sys, /dev and /etc, for
/// tests.
std::string rdma_text(const mad::RdmaUser& user, const std::string& root = "");

}  // namespace info

#endif  // PERF_INFO_RDMA_H_
