#include "madlike/driver/ofi_shm/endpoint.h"

#include <fcntl.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_errno.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/uio.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "madlike/driver/door/sockets.h"

namespace mad {
namespace {

// The provider takes what it sends through shared memory in buffers of this size.
constexpr std::size_t kBufferBytes = 32 * 1024;

/// Bytes of an endpoint's memory that are ever written, from its beginning on.  Those behind, but
/// for a table of peers, are buffers for more than one packet at a time, which there never is.
std::size_t used_bytes(std::size_t max_packet_bytes) {
  // In the queue: a command of 256 bytes, a buffer of 4096, an answer of 16, for each place.
  constexpr std::size_t kQueue = OfiShmFabric::kPlaces * (256 + 4096 + 16 + 2) + 4096;
  return kQueue + (max_packet_bytes + kBufferBytes - 1) / kBufferBytes * kBufferBytes;
}
// While it is made: what is behind the buffers, to the next power of 2, is filled with zeros.
constexpr std::size_t kMadeBytes = 8 * 1024 * 1024;

/// The provider would die of a signal where there is no room.
Status check_room(std::size_t bytes) {
  struct statvfs room {};
  if (statvfs("/dev/shm", &room) != 0) {
    return tcp_status(StatusCode::kNoMemory, "there is no /dev/shm", errno);
  }
  if (room.f_bavail * room.f_frsize >= bytes) return {};
  return {StatusCode::kNoMemory,
          "no room in /dev/shm: a peer takes " + std::to_string(bytes / 1024) + " KiB at first"};
}

/// One engine of this host at a time makes memory, so that there is the room for it that it found.
class Turn {
 public:
  Turn() : directory_(::open("/dev/shm", O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {
    taken_ = flock(directory_.fd(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
  }
  ~Turn() { flock(directory_.fd(), LOCK_UN); }  // also that of a child that was forked meanwhile
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;
  /// It is another engine's.
  bool is_taken() const { return taken_; }

 private:
  const TcpSocket directory_;
  bool taken_ = false;
};

/// Gives back the memory of zeros at the end of a file, which are zeros without it, too.
void free_zeros(int file) {
  struct stat status {};
  if (fstat(file, &status) != 0) return;
  std::array<char, 64 * 1024> zeros{}, read;
  const auto step = static_cast<off_t>(read.size());
  off_t end = status.st_size;
  while (end >= step && pread(file, read.data(), read.size(), end - step) == step &&
         read == zeros) {
    end -= step;
  }
  const int punch = FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE;
  if (end < status.st_size) (void)fallocate(file, punch, end, status.st_size - end);
}

Status settle(const std::string& name, std::size_t bytes) {
  const TcpSocket file = open_shared(name);
  const int error = file ? reserve_shared(file.fd(), bytes) : errno;
  if (error != 0) return tcp_status(StatusCode::kNoMemory, "no room in /dev/shm", error);
  free_zeros(file.fd());
  return {};
}

}  // namespace

Result<std::unique_ptr<OfiShmEndpoint>> OfiShmEndpoint::open(std::shared_ptr<OfiShmFabric> fabric,
                                                             const std::string& name,
                                                             std::size_t max_packet_bytes,
                                                             bool in_turn) {
  const std::size_t used = used_bytes(max_packet_bytes);
  const Turn turn;
  if (in_turn && turn.is_taken()) return Status(StatusCode::kAgain);
  Status status = check_room(used + kMadeBytes);
  if (status.error()) return status;
  std::unique_ptr<OfiShmEndpoint> endpoint(new OfiShmEndpoint(std::move(fabric), name));
  status = endpoint->open_objects();
  if (status.ok()) status = settle(name, used);
  if (status.error()) return status;
  return endpoint;
}

Status OfiShmEndpoint::open_objects() {
  fi_cq_attr cq_attr{};
  cq_attr.format = FI_CQ_FORMAT_DATA;
  cq_attr.wait_obj = FI_WAIT_NONE;
  cq_attr.size = 2 * OfiShmFabric::kPlaces;
  Status status = open_one(completions_, "fi_cq_open", [&](fid_cq** out) {
    return fi_cq_open(fabric_->domain(), &cq_attr, out, nullptr);
  });
  if (status.error()) return status;
  fi_av_attr av_attr{};
  av_attr.type = FI_AV_TABLE;
  av_attr.count = 1;
  status = open_one(addresses_, "fi_av_open", [&](fid_av** out) {
    return fi_av_open(fabric_->domain(), &av_attr, out, nullptr);
  });
  if (status.error()) return status;
  Result<FidPtr<fid_ep>> endpoint = fabric_->open_endpoint();
  if (!endpoint.ok()) return endpoint.status();
  endpoint_ = std::move(*endpoint);
  int error =
      fi_setname(&endpoint_->fid, const_cast<char*>(name_.text().c_str()), name_.text().size() + 1);
  if (error == 0) error = fi_ep_bind(endpoint_.get(), &addresses_->fid, 0);
  // Bound apart: sends are completed only where they ask for it, receives always.
  if (error == 0) {
    error = fi_ep_bind(endpoint_.get(), &completions_->fid, FI_TRANSMIT | FI_SELECTIVE_COMPLETION);
  }
  if (error == 0) error = fi_ep_bind(endpoint_.get(), &completions_->fid, FI_RECV);
  if (error == 0) error = fi_enable(endpoint_.get());
  if (error != 0) return ofi_status(StatusCode::kNoMemory, "opening shared memory", error);
  return {};
}

Status OfiShmEndpoint::reach(const std::string& peer) {
  // The provider takes names of what is not there (yet), too.
  const TcpSocket file = open_shared(peer);
  if (!file) return not_opened(peer, errno);
  const bool others = peer != name_.text();
  if (others && fi_av_insert(addresses_.get(), peer.c_str(), 1, &peer_, 0, nullptr) == 1) return {};
  return not_opened(peer, tcp_spare() ? ENOENT : EMFILE);
}

ssize_t OfiShmEndpoint::post(SegmentList packet, std::uint64_t data, std::uint64_t flags) {
  std::array<iovec, kMostSegments> iov;
  std::size_t count = 0;
  for (const Segment& segment : packet) {
    if (segment.size > 0) iov[count++] = {segment.data, segment.size};
  }
  fi_msg message{};
  message.msg_iov = iov.data();
  message.iov_count = count;
  message.addr = peer_;
  message.data = data;
  return fi_sendmsg(endpoint_.get(), &message, flags | FI_REMOTE_CQ_DATA);
}

ssize_t OfiShmEndpoint::send(SegmentList packet, std::uint64_t data) {
  return post(packet, data, FI_COMPLETION);
}

ssize_t OfiShmEndpoint::inject(SegmentList packet, std::uint64_t data) {
  return post(packet, data, FI_INJECT);
}

ssize_t OfiShmEndpoint::receive(void* bytes, std::size_t size, void* context) {
  return fi_recv(endpoint_.get(), bytes, size, nullptr, FI_ADDR_UNSPEC, context);
}

ssize_t OfiShmEndpoint::read(fi_cq_data_entry* entries, std::size_t count) {
  return fi_cq_read(completions_.get(), entries, count);
}

fi_cq_err_entry OfiShmEndpoint::read_error() {
  fi_cq_err_entry error{};
  (void)fi_cq_readerr(completions_.get(), &error, 0);
  return error;
}

}  // namespace mad
