// ShmPostbox: an engine's two sockets, at which peers meet it and wake it: Unix sockets with names
// that have no file.  The names are made of the engine's secret, so that they tell nobody who does
// not know that already.  The kernel says of every letter which process and user it is from.
//
// A letter is a connection of its own, as the system keeps only 10 datagrams for who does not look
// (net.unix.max_dgram_qlen), but connections by the thousand.  A wake-up is a datagram: one is
// enough.
#ifndef MADLIKE_DRIVER_SHM_POSTBOX_H_
#define MADLIKE_DRIVER_SHM_POSTBOX_H_

#include <sys/socket.h>
#include <sys/un.h>

#include <array>
#include <cstddef>
#include <utility>
#include <vector>

#include "madlike/base/status.h"
#include "madlike/driver/door/secret.h"
#include "madlike/driver/shm/file.h"

namespace mad {

/// The name of one of an engine's sockets.
class ShmSocketName {
 public:
  enum class Of { kLetters, kWakes };
  ShmSocketName(const DoorSecret& secret, Of of);
  const sockaddr* address() const { return reinterpret_cast<const sockaddr*>(&address_); }
  socklen_t size() const { return size_; }

 private:
  sockaddr_un address_{};
  socklen_t size_ = 0;
};

class ShmPostbox {
 public:
  static constexpr std::size_t kMostBytes = 128;  // of a letter
  /// Who has connected and not sent its letter yet: how many have a file here, and how many calls
  /// of receive() long.
  static constexpr std::size_t kMostCallers = 64;
  static constexpr int kMostLooks = 1000;
  struct Letter {
    std::array<std::byte, kMostBytes> bytes;
    std::size_t size = 0;
    pid_t pid = 0;  // as this process sees it; 0: of a namespace that it does not see
    uid_t uid = 0;
    ShmFile file;
  };

  /// kNotFound, kNoMemory.
  static Result<ShmPostbox> open(const DoorSecret& secret);

  int letters_fd() const { return letters_.fd(); }
  int wakes_fd() const { return wakes_.fd(); }
  /// Takes a letter; false: there is none, or no file for it now.
  bool receive(Letter* letter);
  /// Whether somebody has connected and not sent a letter yet: receive() is to be called again.
  bool expects_letter() const { return !callers_.empty(); }
  /// Forgets that somebody woke us.
  void take_wakes();
  /// Sends at once, or not; `file`: -1: none.  kAgain: its box is full, or it did not wait
  /// for the letter; kUnreachable: there is no
  /// such socket; kNoMemory.
  static Status send(const ShmSocketName& to, const void* bytes, std::size_t size, int file = -1);
  /// Wakes who sleeps on that socket; kUnreachable: there is no such socket.
  Status wake(const ShmSocketName& to);

 private:
  ShmPostbox(ShmFile letters, ShmFile wakes)
      : letters_(std::move(letters)), wakes_(std::move(wakes)) {}
  /// Who has connected and not sent yet.
  struct Caller {
    ShmFile socket;
    int looks = 0;
  };
  enum class Got { kNothing, kLetter, kEnd };
  static Got read(const ShmFile& from, Letter* letter);

  ShmFile letters_, wakes_;
  std::vector<Caller> callers_;
};

}  // namespace mad

#endif  // MADLIKE_DRIVER_SHM_POSTBOX_H_
