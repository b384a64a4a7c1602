// OfiShmGate: who of the two sides of a connection is inside of libfabric, and who should look.
//
// A process that dies inside of the provider shm leaves spin locks that are never released, in
// memory that both sides use: whoever comes next waits for ever (smr_progress_cmd(),
// smr_generic_sendmsg()).  So both sides call it one at a time, with a robust mutex of ours held,
// which the kernel gives back when its holder dies: who finds it so never calls libfabric for this
// connection again.
//
// Beside the mutex stand words by which a side learns that there is something to do, without
// asking libfabric, and whether the other one sleeps.  All of it is one page of shared memory.
#ifndef MADLIKE_DRIVER_OFI_SHM_GATE_H_
#define MADLIKE_DRIVER_OFI_SHM_GATE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "madlike/base/status.h"
#include "madlike/driver/ofi_shm/name.h"

namespace mad {

struct OfiShmPage;

class OfiShmGate {
 public:
  /// Bytes of the page: both sides must have it laid out alike.
  static const std::size_t kPageBytes;

  /// Makes the page, a new object of shared memory `name`; `secret`, not 0, tells it from others.
  /// kNoMemory: there is no room for it.
  static Result<OfiShmGate> make(const std::string& name, std::uint64_t secret);
  /// Opens the page that the other side made.  kUnreachable: it is not to be found here.
  static Result<OfiShmGate> join(const std::string& name, std::uint64_t secret);

  /// Where libfabric may be called for this connection, as long as it exists.
  class Visit {
   public:
    explicit Visit(OfiShmGate& gate) : gate_(gate), entry_(gate.enter()) {}
    ~Visit() {
      if (entry_ == Entry::kInside) gate_.leave();
    }
    Visit(const Visit&) = delete;
    Visit& operator=(const Visit&) = delete;
    bool inside() const { return entry_ == Entry::kInside; }
    /// The other side died in there, and nobody may enter any more.
    bool broken() const { return entry_ == Entry::kBroken; }

   private:
    friend class OfiShmGate;
    enum class Entry { kInside, kBusy, kBroken };
    OfiShmGate& gate_;
    Entry entry_;
  };

  /// Of the page; once the other side has joined, nobody needs it.
  OfiShmName& name() { return name_; }

  /// This side has something to look at.
  bool called() const;
  /// Only inside: this side looks at it now.
  void heed();
  /// It has something to look at, whatever the other side does.
  void remember();
  /// The other side has something to look at.  True: it sleeps, and is to be woken.
  [[nodiscard]] bool call();

  /// Only inside: this side waits for room in the other's queue.
  void want_room();
  /// Only inside: whether the other side waits for room in ours; it does not any more.
  bool room_is_wanted();

  /// This side is going to sleep; false: it may not, for it has something to look at.
  [[nodiscard]] bool fall_asleep();
  void wake_up();

  std::uint64_t secret() const;
  /// Whether both sides are of one process.
  bool in_one_process() const;

 private:
  using Entry = Visit::Entry;
  struct Unmap {
    void operator()(OfiShmPage* page) const;
  };
  OfiShmGate(OfiShmPage* page, int side, OfiShmName name)
      : name_(std::move(name)), page_(page), side_(side) {}
  static Result<OfiShmPage*> map(int file, const std::string& name);

  Entry enter();
  void leave();

  OfiShmName name_;  // of who made it
  std::unique_ptr<OfiShmPage, Unmap> page_;
  int side_;  // 0: made it, 1: joined
};

}  // namespace mad

#endif  // MADLIKE_DRIVER_OFI_SHM_GATE_H_
