#include "madlike/driver/shm/segment.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cstring>
#include <string>
#include <utility>

#include "madlike/driver/door/sockets.h"

namespace mad {
namespace {

Status failed(StatusCode code, const std::string& what) {
  const int error = errno;
  return {code, "shm: " + what + ": " + std::strerror(error)};
}

// What its owner could do to memory that we have mapped: cut it, so that we get SIGBUS.
constexpr int kSeals = F_SEAL_SHRINK;

}  // namespace

Result<ShmSegment> ShmSegment::open() {
  ShmSegment segment;
  segment.file_ = ShmFile(memfd_create("mad-shm", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  const int fd = segment.fd();
  if (fd < 0) {
    return failed(is_lack(errno) ? StatusCode::kNoMemory : StatusCode::kNotFound,
                  "no memory without a name (memfd_create)");
  }
  if (fchmod(fd, S_IRUSR | S_IWUSR) != 0 || ftruncate(fd, kShmPage) != 0 ||
      fcntl(fd, F_ADD_SEALS, kSeals) != 0) {
    return failed(StatusCode::kNoMemory, "a segment of shared memory");
  }
  segment.front_ = ShmMapping(fd, 0, kShmPage);
  if (!segment.front_) return failed(StatusCode::kNoMemory, "mapping shared memory");
  segment.front().magic = kShmMagic;
  return segment;
}

Status ShmSegment::grow() {
  const std::size_t first = chunks_.size() * kPlacesAtOnce;
  if (first + kPlacesAtOnce > kShmMostPlaces) {
    return {StatusCode::kNoMemory, "shm: " + std::to_string(first) + " peers are the most"};
  }
  const std::size_t begin = shm_place_offset(first), bytes = kPlacesAtOnce * kShmPlaceBytes;
  rlimit most{};  // beyond it the process would get a signal
  if (getrlimit(RLIMIT_FSIZE, &most) == 0 && most.rlim_cur < begin + bytes) {
    return {StatusCode::kNoMemory, "shm: the limit of file sizes (ulimit -f) is too small"};
  }
  if (ftruncate(fd(), static_cast<off_t>(begin + bytes)) != 0) {
    return failed(StatusCode::kNoMemory, "no room for more shared memory");
  }
  ShmMapping mapped(fd(), begin, bytes);
  if (!mapped) return failed(StatusCode::kNoMemory, "mapping shared memory");
  (void)madvise(mapped.begin(), bytes, MADV_DONTDUMP);  // as for a peer's lane, below
  chunks_.push_back(std::move(mapped));
  for (std::size_t i = kPlacesAtOnce; i > 0; --i) free_.push_back(first + i - 1);
  return {};
}

Result<std::size_t> ShmSegment::take_place() {
  if (free_.empty()) {
    Status grown = grow();
    if (!grown.ok()) return grown;
  }
  const std::size_t place = free_.back();
  free_.pop_back();
  if (place >= places_) places_ = place + 1;
  return place;
}

ShmLaneHead& ShmSegment::lane(std::size_t place) {
  return *reinterpret_cast<ShmLaneHead*>(chunks_[place / kPlacesAtOnce].begin() +
                                         place % kPlacesAtOnce * kShmPlaceBytes);
}

void ShmSegment::return_place(std::size_t place) {
  std::byte* const begin = reinterpret_cast<std::byte*>(&lane(place));
  if (madvise(begin, kShmPlaceBytes, MADV_REMOVE) != 0) std::memset(begin, 0, kShmPlaceBytes);
  free_.push_back(place);
}

void ShmSegment::shrink(std::size_t place, std::size_t limit) {
  std::byte* const begin = reinterpret_cast<std::byte*>(&lane(place));
  const std::size_t kept = kShmLaneHeadBytes + limit;
  (void)madvise(begin + kept, kShmPlaceBytes - kept, MADV_REMOVE);  // else it stays
}

Result<ShmPeerLane> ShmPeerLane::open(int file, std::size_t place) {
  const auto wrong = [](const char* what) {
    return Status(StatusCode::kUnreachable, std::string("shm: the peer's memory ") + what);
  };
  struct stat facts {};
  struct statfs system {};
  if (fstat(file, &facts) != 0 || fstatfs(file, &system) != 0) return wrong("is none");
  if (!S_ISREG(facts.st_mode) || system.f_type != TMPFS_MAGIC) return wrong("is of another kind");
  if (facts.st_uid != geteuid()) return wrong("is another user's");
  if ((facts.st_mode & (S_IRWXG | S_IRWXO)) != 0) return wrong("is open to others");
  const int seals = fcntl(file, F_GET_SEALS);
  if (seals < 0 || (seals & kSeals) != kSeals) return wrong("could be cut");
  if (place >= kShmMostPlaces ||
      static_cast<std::size_t>(facts.st_size) < shm_place_offset(place + 1)) {
    return wrong("is too short");
  }
  ShmPeerLane peer;
  peer.front_ = ShmMapping(file, 0, kShmPage);
  peer.lane_ = ShmMapping(file, shm_place_offset(place), kShmPlaceBytes);
  if (!peer.front_ || !peer.lane_) return failed(StatusCode::kNoMemory, "mapping a peer's memory");
  // A core file would write to all pages of it that nobody has written to yet.
  (void)madvise(peer.lane_.begin(), kShmPlaceBytes, MADV_DONTDUMP);
  if (peer.front().magic != kShmMagic) return wrong("is no segment of this version");
  return peer;
}

}  // namespace mad
