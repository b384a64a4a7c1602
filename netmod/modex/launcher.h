// Launcher: what started the processes, and lets each of them tell the others something.
#ifndef NETMOD_MODEX_LAUNCHER_H_
#define NETMOD_MODEX_LAUNCHER_H_

#include <cstddef>
#include <string>
#include <vector>

#include "madlike/base/status.h"

namespace mad {

/// A process's view of it; PMI and its like.
class Launcher {
 public:
  Launcher() = default;
  virtual ~Launcher() = default;
  Launcher(const Launcher&) = delete;
  Launcher& operator=(const Launcher&) = delete;

  /// Characters of a value, at most.
  virtual std::size_t value_length() const = 0;
  /// Tells the value to all who get() the key once everybody is past the next fence().  A key is
  /// put once.
  virtual Status put(const std::string& key, const std::string& value) = 0;
  /// What the process of this rank put.
  virtual Result<std::string> get(int rank, const std::string& key) = 0;
  /// Waits for all processes of the job.
  virtual Status fence() = 0;
  /// Waits for all processes of this node, each of which gives `size` bytes, the same number: those
  /// of all, in the order of their ranks.
  virtual Result<std::vector<std::byte>> gather(const std::byte* own, std::size_t size) = 0;
};

}  // namespace mad

#endif  // NETMOD_MODEX_LAUNCHER_H_
