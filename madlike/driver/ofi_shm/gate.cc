#include "madlike/driver/ofi_shm/gate.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <new>
#include <random>

#include "madlike/driver/door/sockets.h"

namespace mad {

struct OfiShmPage {
  struct Side {
    alignas(64) std::atomic<std::uint32_t> called{0};
    std::atomic<std::uint32_t> asleep{0};
    std::atomic<std::uint64_t> process{0};
    bool wants_room = false;  // under the mutex
  };
  std::uint64_t secret = 0;
  pthread_mutex_t mutex;
  bool broken = false;  // under the mutex
  Side sides[2];
};
static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

const std::size_t OfiShmGate::kPageBytes = sizeof(OfiShmPage);

namespace {

// Longer than most visits take, and much shorter than a process waits for a core: the other side
// may have lost its own inside.
constexpr int kTries = 200;

/// Tells processes apart, also of two process namespaces.
std::uint64_t process_number() {
  static const std::uint64_t random = [] {
    std::random_device device;
    return (std::uint64_t{device()} << 32) | device();
  }();
  return random ^ static_cast<std::uint64_t>(getpid());
}

void make_mutex(pthread_mutex_t* mutex) {
  pthread_mutexattr_t attributes;
  pthread_mutexattr_init(&attributes);
  pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
  pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
  pthread_mutex_init(mutex, &attributes);
  pthread_mutexattr_destroy(&attributes);
}

}  // namespace

void OfiShmGate::Unmap::operator()(OfiShmPage* page) const { munmap(page, sizeof(OfiShmPage)); }

Result<OfiShmPage*> OfiShmGate::map(int file, const std::string& name) {
  void* const memory =
      mmap(nullptr, sizeof(OfiShmPage), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (memory == MAP_FAILED) return tcp_status(StatusCode::kNoMemory, "mapping " + name, errno);
  return static_cast<OfiShmPage*>(memory);
}

Result<OfiShmGate> OfiShmGate::make(const std::string& name, std::uint64_t secret) {
  const TcpSocket file(shm_open(name.c_str(), O_RDWR | O_CREAT | O_EXCL, S_IRUSR | S_IWUSR));
  if (!file) return tcp_status(StatusCode::kNoMemory, "making /dev/shm/" + name, errno);
  OfiShmName made(name);
  const int full = reserve_shared(file.fd(), sizeof(OfiShmPage));
  if (full != 0) return tcp_status(StatusCode::kNoMemory, "making /dev/shm/" + name, full);
  const Result<OfiShmPage*> memory = map(file.fd(), name);
  if (!memory.ok()) return memory.status();
  OfiShmPage* const page = new (*memory) OfiShmPage;
  make_mutex(&page->mutex);
  page->sides[0].process = process_number();
  page->secret = secret;
  return OfiShmGate(page, 0, std::move(made));
}

Result<OfiShmGate> OfiShmGate::join(const std::string& name, std::uint64_t secret) {
  const TcpSocket file = open_shared(name);
  struct stat status {};
  if (!file) return not_opened(name, errno);
  if (fstat(file.fd(), &status) != 0 || status.st_size != static_cast<off_t>(sizeof(OfiShmPage))) {
    return not_opened(name, ENOENT);
  }
  const Result<OfiShmPage*> page = map(file.fd(), name);
  if (!page.ok()) return page.status();
  OfiShmGate gate(*page, 1, OfiShmName(""));
  if (gate.page_->secret != secret) {
    return Status(StatusCode::kUnreachable, "/dev/shm/" + name + " is not its own here");
  }
  gate.page_->sides[1].process = process_number();
  return gate;
}

OfiShmGate::Entry OfiShmGate::enter() {
  int error = EBUSY;
  for (int tries = 0; tries < kTries && error == EBUSY; ++tries) {
    error = pthread_mutex_trylock(&page_->mutex);
  }
  if (error == EBUSY) return Entry::kBusy;
  if (error == EOWNERDEAD) {
    page_->broken = true;
    error = pthread_mutex_consistent(&page_->mutex);
  }
  if (error != 0) return Entry::kBroken;
  if (!page_->broken) return Entry::kInside;
  leave();
  return Entry::kBroken;
}

void OfiShmGate::leave() { pthread_mutex_unlock(&page_->mutex); }

bool OfiShmGate::called() const {
  return page_->sides[side_].called.load(std::memory_order_relaxed) != 0;
}

void OfiShmGate::heed() { page_->sides[side_].called.store(0, std::memory_order_relaxed); }

void OfiShmGate::remember() { page_->sides[side_].called.store(1); }

bool OfiShmGate::call() {
  OfiShmPage::Side& other = page_->sides[1 - side_];
  other.called.store(1);
  return other.asleep.load() != 0 && other.asleep.exchange(0) != 0;
}

void OfiShmGate::want_room() { page_->sides[side_].wants_room = true; }

bool OfiShmGate::room_is_wanted() {
  OfiShmPage::Side& other = page_->sides[1 - side_];
  const bool wanted = other.wants_room;
  other.wants_room = false;
  return wanted;
}

bool OfiShmGate::fall_asleep() {
  OfiShmPage::Side& own = page_->sides[side_];
  own.asleep.store(1);
  return own.called.load() == 0;
}

void OfiShmGate::wake_up() { page_->sides[side_].asleep.store(0); }

std::uint64_t OfiShmGate::secret() const { return page_->secret; }

bool OfiShmGate::in_one_process() const {
  return page_->sides[0].process.load() == page_->sides[1].process.load();
}

}  // namespace mad
