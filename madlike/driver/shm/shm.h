// The shm driver: one engine in shared memory of this host, with nothing but Linux below it.
//
// Every engine has one segment of memory without a name (memfd_create()), in which it writes to
// each of its peers in a place of its own, and sockets without files (Unix, abstract), by which
// peers meet and sleepers are woken.  Nothing of it can be left behind.  docs/shm_protocol.md
// describes the bytes, docs/adr/0033-shm-of-our-own.md why they are so.
#ifndef MADLIKE_DRIVER_SHM_SHM_H_
#define MADLIKE_DRIVER_SHM_SHM_H_

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>

#include "madlike/base/status.h"
#include "madlike/driver/door/secret.h"
#include "madlike/driver/driver.h"

namespace mad {

struct ShmOptions {
  std::optional<DoorSecret> secret;  // of the engine's address; empty: a new one
  /// Bytes of memory that this engine may write messages to, for all peers together: at least
  /// 36 KiB for each, more while much is sent.  0: MAD_SHM_LIMIT (MiB) of the environment, or
  /// kMemoryLimit.
  std::size_t memory_limit = 0;
  static constexpr std::size_t kMemoryLimit = std::size_t{256} << 20;
  /// What the receiver reads from the sender's memory, where both sides can: one copy, and the
  /// sender's core is free.
  enum class SingleCopy {
    kNever,
    kIfFaster,  // as kAlways, of up to 16 MiB, in runs 1 MiB, while that turns out to be faster
    kAlways     // contiguous payload, and that in runs of 4 KiB and more
  };
  /// Empty: as MAD_SHM_SINGLE_COPY of the environment says: 0, 1, or unset.
  std::optional<SingleCopy> single_copy;
  /// A peer that disconnect() left while it was still to read something may take so long; and so
  /// long closing the engine may take for such peers.
  std::chrono::milliseconds close_timeout{20000};
  std::chrono::milliseconds linger{2000};
};

/// Opens the fabric.  kNotFound: this kernel or container has not what it takes.
Result<std::unique_ptr<Driver>> open_shm(const ShmOptions& options);

}  // namespace mad

#endif  // MADLIKE_DRIVER_SHM_SHM_H_
