// How connections come, until the two sides meet.
#include <errno.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <string>

#include "madlike/driver/door/handshake.h"
#include "madlike/driver/door/sockets.h"
#include "madlike/driver/shm/driver.h"

namespace mad {
namespace {

constexpr std::size_t kMostSegments = 256;
// Payload in long runs is read from its sender's memory from so many bytes on, where that is asked
// for.
constexpr std::size_t kWriteWholeFrom = 32 * 1024;
constexpr const char* kLimitVariable = "MAD_SHM_LIMIT";  // MiB
constexpr const char* kSingleCopyVariable = "MAD_SHM_SINGLE_COPY";

Result<std::size_t> limit_of(const ShmOptions& options) {
  if (options.memory_limit > 0) return options.memory_limit;
  const char* const text = std::getenv(kLimitVariable);
  if (text == nullptr) return ShmOptions::kMemoryLimit;
  std::size_t mebibytes = 0;
  const char* const end = text + std::strlen(text);
  const char* const stop = std::from_chars(text, end, mebibytes).ptr;  // 0 stays if there is none
  if (stop != end || mebibytes == 0 || mebibytes > (1u << 20)) {
    return Status(StatusCode::kInvalidArgument, std::string("shm: ") + kLimitVariable + " is '" +
                                                    text + "', not a number of MiB");
  }
  return mebibytes << 20;
}

Result<ShmOptions::SingleCopy> single_copy_of(const ShmOptions& options) {
  if (options.single_copy) return *options.single_copy;
  const char* const text = std::getenv(kSingleCopyVariable);
  if (text == nullptr) return ShmOptions::SingleCopy::kIfFaster;
  if (std::strcmp(text, "0") == 0) return ShmOptions::SingleCopy::kNever;
  if (std::strcmp(text, "1") == 0) return ShmOptions::SingleCopy::kAlways;
  return Status(StatusCode::kInvalidArgument,
                std::string("shm: ") + kSingleCopyVariable + " is '" + text + "', neither 0 nor 1");
}

Status system_failed(const char* what) {
  const int error = errno;
  return {is_lack(error) ? StatusCode::kNoMemory : StatusCode::kNotFound,
          std::string("shm: ") + what + ": " + std::strerror(error)};
}

}  // namespace

ShmDriver::ShmDriver(const ShmOptions& options, const DoorSecret& secret, ShmSegment segment,
                     ShmPostbox postbox, ShmFile watch, ShmFile timer)
    : options_(options),
      own_{static_cast<std::uint32_t>(getpid()), secret},
      address_(own_.bytes()),
      segment_(std::move(segment)),
      postbox_(std::move(postbox)),
      watch_(std::move(watch)),
      timer_(std::move(timer)) {
  caps_.name = "shm";
  caps_.beyond_host = false;
  LinkCaps& link = caps_.links.front();
  link.prices = caps_.name;
  link.max_iov = kMostSegments;
  link.max_packet_bytes = kShmPieceBytes;
  link.inject_bytes = kShmPieceBytes;
  link.piece_bytes = kShmPieceBytes;
  link.lent_bytes = link.short_bytes = kShmPieceBytes;
  if (!reads_memory()) return;
  caps_.remote_write = true;
  caps_.scattered_writes = true;
  link.max_write_iov = ProcessReader::kMostRuns;
  link.max_write_bytes = kMostPull;
  link.write_whole_from = kWriteWholeFrom;
}

Result<std::unique_ptr<Driver>> open_shm(const ShmOptions& options) {
  try {
    return ShmDriver::open(options);
  } catch (const std::exception& error) {
    return Status(StatusCode::kNoMemory, std::string("opening shm: ") + error.what());
  }
}

Result<std::unique_ptr<Driver>> ShmDriver::open(const ShmOptions& wanted) {
  ShmOptions options = wanted;
  const Result<std::size_t> limit = limit_of(options);
  if (!limit.ok()) return limit.status();
  options.memory_limit = *limit;
  const Result<ShmOptions::SingleCopy> single_copy = single_copy_of(options);
  if (!single_copy.ok()) return single_copy.status();
  options.single_copy = *single_copy;
  const DoorSecret secret = options.secret ? *options.secret : random_secret();
  Result<ShmSegment> segment = ShmSegment::open();
  if (!segment.ok()) return segment.status();
  Result<ShmPostbox> postbox = ShmPostbox::open(secret);
  if (!postbox.ok()) return postbox.status();
  ShmFile watch(epoll_create1(EPOLL_CLOEXEC));
  ShmFile timer(timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC));
  const auto added = [&watch](int fd, std::uint64_t who) {
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.u64 = who;
    return epoll_ctl(watch.fd(), EPOLL_CTL_ADD, fd, &event) == 0;
  };
  if (!watch || !timer || !added(postbox->letters_fd(), kShmLetters) ||
      !added(postbox->wakes_fd(), kShmWakes) || !added(timer.fd(), kShmTimer)) {
    return system_failed("watching sockets");
  }
  // How the end of a peer's process is noticed.
  ShmFile own_process(static_cast<int>(syscall(SYS_pidfd_open, getpid(), 0)));
  if (!own_process) return system_failed("watching processes (pidfd_open)");
  return std::unique_ptr<Driver>(new ShmDriver(options, secret, std::move(*segment),
                                               std::move(*postbox), std::move(watch),
                                               std::move(timer)));
}

void ShmDriver::set_state(ShmConnection& connection, State state) {
  const bool was = connection.state == State::kMeeting;
  connection.state = state;
  if (was && state != State::kMeeting) {
    unsettled_.erase(std::find(unsettled_.begin(), unsettled_.end(), connection.id));
  }
}

ShmConnection& ShmDriver::add_connection(const ShmAddress& address) {
  ShmConnection& added = connections_.add(address, random_number<std::uint64_t>(),
                                          random_number<std::uint64_t>(), postbox_);
  clock_.tick();  // there may have been a pause
  if (unsettled_.empty()) probe_at_ = clock_.now() + kShmProbeEvery;
  unsettled_.push_back(added.id);
  return added;
}

Result<ConnectionId> ShmDriver::connect(const std::byte* address, std::size_t size) {
  const Result<ShmAddress> peer = ShmAddress::parse(address, size);
  if (!peer.ok()) return peer.status();
  const std::vector<std::byte> bytes(address, address + size);
  if (bytes == address_) {
    return Status(StatusCode::kInvalidArgument, "an engine does not connect to itself over shm");
  }
  if (ShmConnection* const known = connections_.live(bytes)) {
    known->told = true;
    return known->id;
  }
  ShmConnection& connection = add_connection(*peer);
  connection.told = true;
  Status prepared = prepare(connection);
  if (prepared.ok()) {
    greet(connection);
  } else {
    end_soon(connection.id, std::move(prepared));
  }
  return connection.id;
}

// What a connection needs of this side: the peer's process watched, and a place.
Status ShmDriver::prepare(ShmConnection& connection) {
  if (!connection.process) {
    Status watched = watch_process(connection);
    if (!watched.ok()) return watched;
  }
  if (connection.place) return {};
  if (!charge(connection, kShmPieceLimit + kShmLaneHeadBytes)) {
    return {StatusCode::kNoMemory, "shm: the memory limit of " +
                                       std::to_string(options_.memory_limit >> 10) +
                                       " KiB leaves no lane for another peer (MAD_SHM_LIMIT)"};
  }
  const Result<std::size_t> place = segment_.take_place();
  if (!place.ok()) return place.status();
  connection.place = *place;
  if (bells_.size() <= *place) bells_.resize(*place + 1);
  bells_[*place] = &connection;
  ShmLaneHead& lane = segment_.lane(*place);
  lane.word_address.store(reinterpret_cast<std::uintptr_t>(&connection.word),
                          std::memory_order_relaxed);
  lane.word.store(connection.word.load(), std::memory_order_relaxed);
  lane.session.store(connection.session, std::memory_order_release);
  return {};
}

// Before it is greeted: that a letter reaches the peer afterwards says that the process of this
// number is the peer still.
Status ShmDriver::watch_process(ShmConnection& connection) {
  const auto pid = static_cast<pid_t>(connection.peer.pid);
  ShmFile process(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
  if (!process) {
    if (is_lack(errno)) return system_failed("watching a peer's process");
    return {StatusCode::kUnreachable,
            "shm: there is no process " + std::to_string(pid) + " here (any more)"};
  }
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.u64 = connection.id;
  if (epoll_ctl(watch_.fd(), EPOLL_CTL_ADD, process.fd(), &event) != 0) {
    return {StatusCode::kNoMemory, "shm: watching a peer's process: no memory"};
  }
  connection.process = std::move(process);
  return {};
}

// A child of fork() may have a copy of the descriptor: closing it would not do.
void ShmDriver::unwatch_process(ShmConnection& connection) {
  if (!connection.process) return;
  (void)epoll_ctl(watch_.fd(), EPOLL_CTL_DEL, connection.process.fd(), nullptr);
}

}  // namespace mad
