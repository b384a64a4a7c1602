// ShmPostbox: the sockets at which peers meet an engine and wake it: Unix sockets with names that
// have no file.  The names are made of the engine's secret, so that they tell nobody
// that.  The kernel says of every letter which process and user it is from.
//
// Letters and wake-ups are datagrams.  Of those the system keeps only 10 or so a socket for who
// does not look (net.unix.max_dgram_qlen), so there are several boxes for letters, and who sends
// takes the same one always.
#ifndef MADLIKE_DRIVER_SHM_POSTBOX_H_
#define MADLIKE_DRIVER_SHM_POSTBOX_H_

#include <sys/socket.h>
#include <sys/un.h>

#include <array>
#include <cstddef>
#include <vector>

#include "madlike/base/status.h"
#include "madlike/driver/door/secret.h"
#include "madlike/driver/shm/file.h"

namespace mad {

/// The name of one of an engine's sockets.
class ShmSocketName {
 public:
  enum class Of { kLetters, kWakes };
  /// `box`: which one for letters.
  ShmSocketName(const DoorSecret& secret, Of of, unsigned box = 0);
  const sockaddr* address() const { return reinterpret_cast<const sockaddr*>(&address_); }
  socklen_t size() const { return size_; }

 private:
  sockaddr_un address_{};
  socklen_t size_ = 0;
};

class ShmPostbox {
 public:
  static constexpr std::size_t kMostBytes = 128;  // of a letter
  static constexpr unsigned kBoxes = 8;
  struct Letter {
    std::array<std::byte, kMostBytes> bytes;
    std::size_t size = 0;
    pid_t pid = 0;  // as this process sees it; 0: of a namespace that it does not see
    uid_t uid = 0;
    ShmFile file;
  };

  /// kNotFound, kNoMemory.
  static Result<ShmPostbox> open(const DoorSecret& secret);

  /// Readable while there are letters.
  int letters_fd() const { return watch_.fd(); }
  int wakes_fd() const { return wakes_.fd(); }
  /// Takes a letter, without its file if this process may not have another one; false: there is
  /// none.
  bool receive(Letter* letter);
  /// Forgets that somebody woke us.
  void take_wakes();
  /// Sends a letter to the engine with that secret at once, or not; `file`: -1: none.  kAgain: its
  /// box is full, or the system has too much of ours on its way; kUnreachable: there is no such
  /// engine; kNoMemory; kNotFound: the system forbids it.
  Status send(const DoorSecret& to, const void* bytes, std::size_t size, int file = -1);
  /// Wakes who sleeps on that socket; kUnreachable: there is no such socket.
  Status wake(const ShmSocketName& to);
  /// Whether there is such a socket, with nothing sent: what a peer has not read yet counts against
  /// what this process may have on its way to others.
  bool finds(const ShmSocketName& name);

 private:
  ShmPostbox() = default;
  bool read(unsigned box, Letter* letter);

  std::array<ShmFile, kBoxes> letters_;
  ShmFile wakes_, watch_;
  ShmFile finder_;              // a socket without a name, of finds()
  unsigned received_ = 0;       // letters
  std::vector<unsigned> full_;  // boxes that had letters when they were looked at
};

}  // namespace mad

#endif  // MADLIKE_DRIVER_SHM_POSTBOX_H_
