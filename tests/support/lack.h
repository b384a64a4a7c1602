// Lack, NoFiles: a test's process has no more of something for a while; open_files(): its files.
//
// UBSan opens a pipe to look at a type that it has not seen yet and takes the lack for a bad
// pointer, and the allocator may have to map memory: what a test is about has happened once before.
#ifndef TESTS_SUPPORT_LACK_H_
#define TESTS_SUPPORT_LACK_H_

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstddef>
#include <cstdio>
#include <vector>

#include "gtest/gtest.h"
#include "madlike/base/status.h"

namespace mad {

class Lack {
 public:
  Lack(__rlimit_resource resource, rlim_t most) : resource_(resource) {
    EXPECT_EQ(getrlimit(resource_, &before_), 0);
    const rlimit little{most, before_.rlim_max};
    EXPECT_EQ(setrlimit(resource_, &little), 0);
  }
  ~Lack() { EXPECT_EQ(setrlimit(resource_, &before_), 0); }
  Lack(const Lack&) = delete;
  Lack& operator=(const Lack&) = delete;

 private:
  __rlimit_resource resource_;
  rlimit before_{};
};

/// Files this process has open: what a driver closes, it does not keep.
inline std::size_t open_files() {
  std::size_t count = 0;
  for (int file = 0; file < 1024; ++file) count += fcntl(file, F_GETFD) != -1;
  return count;
}

/// Files may be opened until `spare` more are open.
class NoFiles {
 public:
  explicit NoFiles(rlim_t spare = 0) : lack_(RLIMIT_NOFILE, fill() + spare) {}
  ~NoFiles() {
    for (const int file : held_) close(file);
  }

 private:
  /// Takes all numbers below the highest that is in use; the one above that.
  rlim_t fill() {
    rlimit most{};
    EXPECT_EQ(getrlimit(RLIMIT_NOFILE, &most), 0);
    int highest = 0;
    for (int file = 0; file < 1024 && static_cast<rlim_t>(file) < most.rlim_cur; ++file) {
      if (fcntl(file, F_GETFD) >= 0) highest = file;
    }
    const Status for_ubsan(StatusCode::kNoMemory, "as there will be"), copied = for_ubsan;
    EXPECT_FALSE(copied.ok());
    held_.reserve(static_cast<std::size_t>(highest));
    for (int file = dup(0); file >= 0; file = dup(0)) {
      if (file > highest) {
        close(file);
        break;
      }
      held_.push_back(file);
    }
    return static_cast<rlim_t>(highest) + 1;
  }

  std::vector<int> held_;
  Lack lack_;
};

/// Bytes of addresses that this process uses now, as RLIMIT_AS counts them.
inline rlim_t mapped_bytes() {
  unsigned long pages = 0;
  std::FILE* const file = std::fopen("/proc/self/statm", "r");
  EXPECT_NE(file, nullptr);
  EXPECT_EQ(std::fscanf(file, "%lu", &pages), 1);
  std::fclose(file);
  return pages * static_cast<rlim_t>(sysconf(_SC_PAGESIZE));
}

}  // namespace mad

#endif  // TESTS_SUPPORT_LACK_H_
