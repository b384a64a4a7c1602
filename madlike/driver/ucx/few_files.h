// For tests: the files that this process has open, and FewFiles, who lets it open few.
#ifndef MADLIKE_DRIVER_UCX_FEW_FILES_H_
#define MADLIKE_DRIVER_UCX_FEW_FILES_H_

#include <fcntl.h>
#include <sys/resource.h>

#include <cstddef>

#include "gtest/gtest.h"

namespace mad {

inline std::size_t open_files() {
  std::size_t count = 0;
  for (int fd = 0; fd < 1024; ++fd) count += fcntl(fd, F_GETFD) != -1;
  return count;
}

/// While one exists, this process may open as many files more, or none.
class FewFiles {
 public:
  explicit FewFiles(std::size_t more = 0) {
    EXPECT_EQ(getrlimit(RLIMIT_NOFILE, &before_), 0);
    rlimit few{0, before_.rlim_max};
    for (;; ++few.rlim_cur) {
      const bool is_free = fcntl(static_cast<int>(few.rlim_cur), F_GETFD) == -1;
      if (is_free && more-- == 0) break;
    }
    EXPECT_EQ(setrlimit(RLIMIT_NOFILE, &few), 0);
  }
  ~FewFiles() { EXPECT_EQ(setrlimit(RLIMIT_NOFILE, &before_), 0); }
  FewFiles(const FewFiles&) = delete;
  FewFiles& operator=(const FewFiles&) = delete;

 private:
  rlimit before_{};
};

}  // namespace mad

#endif  // MADLIKE_DRIVER_UCX_FEW_FILES_H_
