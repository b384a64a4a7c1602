#include "madlike/driver/shm/postbox.h"

#include <errno.h>
#include <sodium.h>
#include <sys/uio.h>

#include <cstddef>
#include <cstring>
#include <string>
#include <utility>

#include "madlike/driver/door/sockets.h"

namespace mad {
namespace {

constexpr char kPrefix[] = "mad-shm-";
constexpr int kMostWaiting = 4096;  // letters
constexpr std::size_t kHashBytes = 16;

Status failed(const std::string& what, int error) {
  return {is_lack(error) ? StatusCode::kNoMemory : StatusCode::kNotFound,
          "shm: " + what + ": " + std::strerror(error)};
}

}  // namespace

ShmSocketName::ShmSocketName(const DoorSecret& secret, Of of) {
  static_assert(kHashBytes >= crypto_generichash_BYTES_MIN);
  unsigned char hash[kHashBytes];
  crypto_generichash(hash, sizeof(hash), reinterpret_cast<const unsigned char*>(kPrefix),
                     sizeof(kPrefix), reinterpret_cast<const unsigned char*>(secret.data()),
                     secret.size());
  char text[2 * kHashBytes + 1];
  sodium_bin2hex(text, sizeof(text), hash, sizeof(hash));
  const std::string name =
      std::string(1, '\0') + kPrefix + (of == Of::kLetters ? "l-" : "w-") + text;
  address_.sun_family = AF_UNIX;
  std::memcpy(address_.sun_path, name.data(), name.size());
  size_ = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name.size());
}

namespace {

ShmFile socket_of(int type) {
  return ShmFile(::socket(AF_UNIX, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
}

}  // namespace

Result<ShmPostbox> ShmPostbox::open(const DoorSecret& secret) {
  ShmFile letters = socket_of(SOCK_SEQPACKET), wakes = socket_of(SOCK_DGRAM);
  if (!letters || !wakes) return failed("a Unix socket", errno);
  const int yes = 1;
  const ShmSocketName at(secret, ShmSocketName::Of::kLetters);
  const ShmSocketName wakes_at(secret, ShmSocketName::Of::kWakes);
  if (setsockopt(letters.fd(), SOL_SOCKET, SO_PASSCRED, &yes, sizeof(yes)) != 0 ||
      bind(letters.fd(), at.address(), at.size()) != 0 || listen(letters.fd(), kMostWaiting) != 0 ||
      bind(wakes.fd(), wakes_at.address(), wakes_at.size()) != 0) {
    return failed("a Unix socket", errno);
  }
  return ShmPostbox(std::move(letters), std::move(wakes));
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

bool ShmPostbox::receive(Letter* letter) {
  while (callers_.size() < kMostCallers) {
    ShmFile from(accept4(letters_.fd(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!from) break;
    const Got got = read(from, letter);
    if (got == Got::kLetter) return true;
    if (got == Got::kNothing) callers_.push_back({std::move(from), 0});
  }
  for (std::size_t i = 0; i < callers_.size();) {
    const Got got = read(callers_[i].socket, letter);
    if (got == Got::kNothing && ++callers_[i].looks < kMostLooks) {
      ++i;
      continue;
    }
    callers_.erase(callers_.begin() + static_cast<std::ptrdiff_t>(i));
    if (got == Got::kLetter) return true;
  }
  return false;
}

ShmPostbox::Got ShmPostbox::read(const ShmFile& from, Letter* letter) {
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
    got = recvmsg(from.fd(), &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  } while (got < 0 && errno == EINTR);
  if (got < 0 && errno == EAGAIN) return Got::kNothing;
  if (got <= 0) return Got::kEnd;
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
  return Got::kLetter;
}

Status ShmPostbox::send(const ShmSocketName& to, const void* bytes, std::size_t size, int file) {
  const ShmFile socket = socket_of(SOCK_SEQPACKET);
  if (!socket) return failed("a socket for a letter", errno);
  iovec all{const_cast<void*>(bytes), size};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr message{};
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
  const bool sent = connect(socket.fd(), to.address(), to.size()) == 0 &&
                    sendmsg(socket.fd(), &message, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0;
  if (sent) return {};
  switch (errno) {
    case EAGAIN:
    case ENOBUFS:
    case EINTR:
    case EPIPE:
    case ECONNRESET:
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
