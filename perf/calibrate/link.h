// Link: this process and a child of it, connected over one fabric, that time messages one way.
//
// The child receives what each message says it is to receive, compares every byte of the first of
// a kind, and answers with a message without payload.
#ifndef PERF_CALIBRATE_LINK_H_
#define PERF_CALIBRATE_LINK_H_

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "netmod/abi/mad.h"

namespace calibrate {

/// `rows` rows of `row_bytes`, as far apart as they are long; packed in all at most kMostBytes.
struct Layout {
  std::uint64_t rows = 0;  // 1: contiguous
  std::uint64_t row_bytes = 0;

  std::uint64_t bytes() const { return rows * row_bytes; }
};

/// One message: the layout and the path of each side.
struct Transfer {
  Layout sent;
  Layout received;
  mad_path path = MAD_PATH_AUTO;  // of the side that is not contiguous
};

struct Timing {
  double one_way_ns = 0;  // the least of all rounds
  double packets = 0;     // of one message
};

inline constexpr std::size_t kMostBytes = std::size_t{1} << 20;

/// Throws std::runtime_error where libmad or the other process fails.
class Link {
 public:
  /// Before this process has threads: it forks.  `flush_threshold` as in mad_config.
  Link(const std::string& fabric, const std::string& interface, std::uint64_t flush_threshold);
  ~Link();
  Link(const Link&) = delete;
  Link& operator=(const Link&) = delete;

  /// The fabric's own name.
  std::string fabric() const;
  /// Half a round trip without payload, the least of many.
  double empty_ns() const { return empty_ns_; }
  Timing time(const Transfer& transfer, int rounds);

 private:
  class End;

  /// The child's part; returns its exit code.
  static int serve(const std::string& fabric, const std::string& interface,
                   std::uint64_t flush_threshold, int socket);
  struct Rounds {
    double least_ns = 0;
    int count = 0;
  };
  /// `most` round trips, or fewer if they take long.
  Rounds rounds_of(const Transfer& transfer, int most);
  double round_trip(const Transfer& transfer, bool verify);

  std::unique_ptr<End> end_;
  pid_t child_ = -1;
  double empty_ns_ = 0;
};

}  // namespace calibrate

#endif  // PERF_CALIBRATE_LINK_H_
