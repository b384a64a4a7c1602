#include "netmod/abi/after_fork.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <cstddef>
#include <cstring>
#include <string_view>

namespace mad {
namespace {

constexpr int kMostNested = 4;  // sets in sets: libfabric nests two
constexpr std::string_view kInfo = "/proc/self/fdinfo/";

// /proc/self/fdinfo/<a descriptor>, line by line.  Of an epoll set (proc_pid_fdinfo(5)):
//   tfd:        5 events:       19 data: 5  pos:0 ino:61af sdev:7
class Lines {
 public:
  explicit Lines(int fd) {
    std::array<char, 48> path{};
    std::memcpy(path.data(), kInfo.data(), kInfo.size());
    std::to_chars(path.data() + kInfo.size(), path.data() + path.size() - 1, fd);
    file_ = open(path.data(), O_RDONLY | O_CLOEXEC);
  }
  ~Lines() {
    if (file_ >= 0) close(file_);
  }
  Lines(const Lines&) = delete;
  Lines& operator=(const Lines&) = delete;

  /// The next line, until the next call; empty: there is none.
  std::string_view next() {
    for (;;) {
      const std::string_view have(text_.data() + begin_, end_ - begin_);
      const std::size_t length = have.find('\n');
      if (length != std::string_view::npos) {
        begin_ += length + 1;
        return have.substr(0, length + 1);
      }
      std::memmove(text_.data(), have.data(), have.size());
      begin_ = 0;
      end_ = have.size();
      const ssize_t got = file_ < 0 ? 0 : read(file_, text_.data() + end_, text_.size() - end_);
      if (got <= 0) return {};
      end_ += static_cast<std::size_t>(got);
    }
  }

 private:
  int file_ = -1;
  std::array<char, 1024> text_;
  std::size_t begin_ = 0, end_ = 0;  // what was read and not yet given
};

// The number behind `name`; false: it is not there.
template <typename Number>
bool number_in(std::string_view line, std::string_view name, int base, Number* out) {
  const std::size_t at = line.find(name);
  if (at == std::string_view::npos) return false;
  line.remove_prefix(at + name.size());
  line.remove_prefix(line.find_first_not_of(' '));
  return std::from_chars(line.data(), line.data() + line.size(), *out, base).ec == std::errc();
}

// Whether the descriptor is still what the set watches: a number may be used again.
bool is_the_same(int fd, ino_t inode) {
  struct stat now {};
  return fstat(fd, &now) == 0 && now.st_ino == inode;
}

// NOLINTNEXTLINE(misc-no-recursion): at most kMostNested deep
void close_set(int set, int nested) {
  if (nested < kMostNested) {
    Lines lines(set);
    for (std::string_view line = lines.next(); !line.empty(); line = lines.next()) {
      int fd = -1;
      ino_t inode = 0;
      const bool watched = number_in(line, "tfd:", 10, &fd) && number_in(line, "ino:", 16, &inode);
      if (watched && is_the_same(fd, inode)) close_set(fd, nested + 1);
    }
  }
  close(set);
}

}  // namespace

void close_inherited(int epoll_set) { close_set(epoll_set, 0); }

}  // namespace mad
