// ShmSegment: the memory an engine writes its messages in; ShmPeerLane: what it maps of a peer's.
#ifndef MADLIKE_DRIVER_SHM_SEGMENT_H_
#define MADLIKE_DRIVER_SHM_SEGMENT_H_

#include <cstddef>
#include <vector>

#include "madlike/base/status.h"
#include "madlike/driver/shm/file.h"
#include "madlike/driver/shm/layout.h"

namespace mad {

class ShmSegment {
 public:
  /// kNotFound: this kernel has no sealed memory; kNoMemory.
  static Result<ShmSegment> open();

  int fd() const { return file_.fd(); }
  ShmFrontPage& front() { return *reinterpret_cast<ShmFrontPage*>(front_.begin()); }

  /// A place that nobody has, its head all 0.  kNoMemory: there are no more.
  Result<std::size_t> take_place();
  /// Nobody reads or writes it any more: its memory is given back.
  void return_place(std::size_t place);
  ShmLaneHead& lane(std::size_t place);
  /// Gives the memory of the ring's bytes from `limit` on back; they are 0 afterwards.
  void shrink(std::size_t place, std::size_t limit);
  /// Places that there have been at one time.
  std::size_t places() const { return places_; }

 private:
  // Mapped at once, as mappings are dearer than what is not used of them.
  static constexpr std::size_t kPlacesAtOnce = 16;

  ShmSegment() = default;
  Status grow();

  ShmFile file_;
  ShmMapping front_;
  std::vector<ShmMapping> chunks_;
  std::vector<std::size_t> free_;
  std::size_t places_ = 0;
};

class ShmPeerLane {
 public:
  /// Maps the lane at `place` of the segment `file`, which may be anything.  kUnreachable: it is
  /// not a segment that is safe to use; kNoMemory.
  static Result<ShmPeerLane> open(int file, std::size_t place);

  ShmFrontPage& front() const { return *reinterpret_cast<ShmFrontPage*>(front_.begin()); }
  ShmLaneHead& lane() const { return *reinterpret_cast<ShmLaneHead*>(lane_.begin()); }

 private:
  ShmMapping front_, lane_;
};

}  // namespace mad

#endif  // MADLIKE_DRIVER_SHM_SEGMENT_H_
