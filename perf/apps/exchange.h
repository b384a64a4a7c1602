// Exchange: the messages of an application, by one of MPI's ways and with or without datatypes.
//
// `hand` packs into buffers and unpacks from them with loops; what lies as it travels is sent from
// there.  `types` describes faces by datatypes, and lists by one that is made for each exchange.
#ifndef PERF_APPS_EXCHANGE_H_
#define PERF_APPS_EXCHANGE_H_

#include <mpi.h>

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "perf/apps/application.h"
#include "perf/micro/cell.h"

namespace apps {

/// An application and its memory, and room for what is packed by hand.
class Stage {
 public:
  /// `shown`: in a window that others write, of MPI_Win_allocate; collective.
  Stage(std::unique_ptr<Application> application, bool shown);
  ~Stage();
  Stage(const Stage&) = delete;
  Stage& operator=(const Stage&) = delete;

  Application& application() const { return *application_; }
  std::byte* memory() const { return memory_; }
  MPI_Win win() const { return win_; }
  void start() const { application_->start(memory_); }
  /// What is packed for, or has come from, the neighbour of a message's number.
  std::byte* outbox(std::size_t number) const { return memory_ + outboxes_[number]; }
  std::byte* inbox(std::size_t number) const { return memory_ + inboxes_[number]; }
  /// Of any rank's memory: all are alike.
  MPI_Aint inbox_offset(std::size_t number) const { return inboxes_[number]; }

 private:
  std::unique_ptr<Application> application_;
  std::unique_ptr<micro::Memory> own_;
  std::vector<MPI_Aint> outboxes_, inboxes_;
  std::byte* memory_ = nullptr;
  MPI_Win win_ = MPI_WIN_NULL;
};

class Exchange {
 public:
  Exchange() = default;
  virtual ~Exchange() = default;
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;

  /// All messages of a step, and what must be done to them.
  virtual void run() = 0;
};

/// METHOD:SEMANTICS, of hand and types and of p2p, persistent, neighbourhood, partitioned and put.
const std::vector<std::string>& ways();
bool needs_window(const std::string& way);
/// Collective; the stage is started and must outlive it.  Throws compare::Lacking if this MPI has
/// no such thing, std::runtime_error if nobody has.
std::unique_ptr<Exchange> exchange_by(const std::string& way, Stage& stage);

}  // namespace apps

#endif  // PERF_APPS_EXCHANGE_H_
