#include "madlike/driver/shm/postbox.h"

#include <errno.h>
#include <sodium.h>
#include <sys/epoll.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <string>
#include <utility>

#include "madlike/driver/door/sockets.h"

namespace mad {
namespace {

constexpr char kPrefix[] = "mad-shm-";
constexpr std::size_t kHashBytes = 16;
// Letters of some boxes; then it is asked anew which have any.
constexpr unsigned kAskAnewAfter = 16;

Status failed(const std::string& what, int error) {
  return {is_lack(error) ? StatusCode::kNoMemory : StatusCode::kNotFound,
          "shm: " + what + ": " + std::strerror(error)};
}

/// The box that this process's letters go to.  Numbers of processes that follow one another at any
/// distance are spread by the golden ratio (times 2^32: Fibonacci hashing).
unsigned own_box() {
  static_assert(ShmPostbox::kBoxes == 8, "the three highest bits");
  return static_cast<unsigned>(getpid()) * 2654435769u >> 29;
}

}  // namespace

ShmSocketName::ShmSocketName(const DoorSecret& secret, Of of, unsigned box) {
  static_assert(kHashBytes >= crypto_generichash_BYTES_MIN);
  unsigned char hash[kHashBytes];
  crypto_generichash(hash, sizeof(hash), reinterpret_cast<const unsigned char*>(kPrefix),
                     sizeof(kPrefix), reinterpret_cast<const unsigned char*>(secret.data()),
                     secret.size());
  char text[2 * kHashBytes + 1];
  sodium_bin2hex(text, sizeof(text), hash, sizeof(hash));
  const std::string name = std::string(1, '\0') + kPrefix +
                           (of == Of::kLetters ? std::to_string(box) + "-" : "w-") + text;
  address_.sun_family = AF_UNIX;
  std::memcpy(address_.sun_path, name.data(), name.size());
  size_ = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name.size());
}

namespace {

/// Empty: errno.
ShmFile open_socket() {
  return ShmFile(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
}

/// Empty: errno.
ShmFile open_socket(const ShmSocketName& at) {
  ShmFile socket = open_socket();
  if (socket && bind(socket.fd(), at.address(), at.size()) != 0) return ShmFile();
  return socket;
}

}  // namespace

Result<ShmPostbox> ShmPostbox::open(const DoorSecret& secret) {
  ShmPostbox opened;
  opened.watch_ = ShmFile(epoll_create1(EPOLL_CLOEXEC));
  opened.wakes_ = open_socket(ShmSocketName(secret, ShmSocketName::Of::kWakes));
  opened.finder_ = open_socket();
  if (!opened.watch_ || !opened.wakes_ || !opened.finder_) return failed("a Unix socket", errno);
  for (unsigned box = 0; box < kBoxes; ++box) {
    ShmFile& letters = opened.letters_[box];
    letters = open_socket(ShmSocketName(secret, ShmSocketName::Of::kLetters, box));
    const int yes = 1;
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.u32 = box;
    if (!letters || setsockopt(letters.fd(), SOL_SOCKET, SO_PASSCRED, &yes, sizeof(yes)) != 0 ||
        epoll_ctl(opened.watch_.fd(), EPOLL_CTL_ADD, letters.fd(), &event) != 0) {
      return failed("a Unix socket", errno);
    }
  }
  return opened;
}

void ShmPostbox::take_wakes() {
  std::byte word;
  while (recv(wakes_.fd(), &word, sizeof(word), MSG_DONTWAIT) >= 0) {
  }
}

Status ShmPostbox::wake(const ShmSocketName& to) {
  const std::byte word{0};
  if (sendto(wakes_.fd(), &word, sizeof(word), MSG_DONTWAIT | MSG_NOSIGNAL, to.address(),
             to.size()) >= 0) {
    return {};
  }
  return errno == ECONNREFUSED ? StatusCode::kUnreachable : StatusCode::kAgain;
}

bool ShmPostbox::finds(const ShmSocketName& name) {
  return connect(finder_.fd(), name.address(), name.size()) == 0 || errno != ECONNREFUSED;
}

bool ShmPostbox::receive(Letter* letter) {
  if (full_.empty()) {
    std::array<epoll_event, kBoxes> events;
    const int count = epoll_wait(watch_.fd(), events.data(), kBoxes, 0);
    for (int i = 0; i < count; ++i) full_.push_back(events[static_cast<std::size_t>(i)].data.u32);
  }
  for (; !full_.empty(); full_.pop_back()) {
    if (!read(full_.back(), letter)) continue;
    std::rotate(full_.rbegin(), full_.rbegin() + 1, full_.rend());  // then another's turn
    if (++received_ % kAskAnewAfter == 0) full_.clear();
    return true;
  }
  return false;
}

bool ShmPostbox::read(unsigned box, Letter* letter) {
  letter->size = 0;
  letter->pid = 0;
  letter->uid = static_cast<uid_t>(-1);
  letter->file.reset();
  iovec bytes{letter->bytes.data(), letter->bytes.size()};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(ucred)) + CMSG_SPACE(4 * sizeof(int))];
  msghdr message{};
  message.msg_iov = &bytes;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof(control);
  ssize_t got = 0;
  do {
    got = recvmsg(letters_[box].fd(), &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  } while (got < 0 && errno == EINTR);
  if (got < 0) return false;
  letter->size = static_cast<std::size_t>(got);
  for (cmsghdr* part = CMSG_FIRSTHDR(&message); part != nullptr;
       part = CMSG_NXTHDR(&message, part)) {
    if (part->cmsg_level != SOL_SOCKET) continue;
    if (part->cmsg_type == SCM_CREDENTIALS && part->cmsg_len >= CMSG_LEN(sizeof(ucred))) {
      ucred who{};
      std::memcpy(&who, CMSG_DATA(part), sizeof(who));
      letter->pid = who.pid;
      letter->uid = who.uid;
    }
    if (part->cmsg_type == SCM_RIGHTS) {
      const std::size_t count = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);
      for (std::size_t i = 0; i < count; ++i) {  // the first one; others are closed
        int fd = -1;
        std::memcpy(&fd, CMSG_DATA(part) + i * sizeof(int), sizeof(fd));
        ShmFile file(fd);
        if (!letter->file) letter->file = std::move(file);
      }
    }
  }
  return true;
}

Status ShmPostbox::send(const DoorSecret& to, const void* bytes, std::size_t size, int file) {
  const ShmSocketName name(to, ShmSocketName::Of::kLetters, own_box());
  iovec all{const_cast<void*>(bytes), size};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr message{};
  message.msg_name = const_cast<sockaddr*>(name.address());
  message.msg_namelen = name.size();
  message.msg_iov = &all;
  message.msg_iovlen = 1;
  if (file >= 0) {
    message.msg_control = control;
    message.msg_controllen = sizeof(control);
    cmsghdr* const part = CMSG_FIRSTHDR(&message);
    part->cmsg_level = SOL_SOCKET;
    part->cmsg_type = SCM_RIGHTS;
    part->cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(part), &file, sizeof(file));
  }
  if (sendmsg(letters_[std::to_integer<unsigned>(to[0]) % kBoxes].fd(), &message,
              MSG_DONTWAIT | MSG_NOSIGNAL) >= 0)
    return {};
  switch (errno) {
    case EAGAIN:
    case ENOBUFS:
    case EINTR:
    case ETOOMANYREFS:  // files on their way
      return StatusCode::kAgain;
    case ECONNREFUSED:
    case ENOENT:
      return StatusCode::kUnreachable;
    default:
      return failed("a letter to a peer", errno);
  }
}

}  // namespace mad
