// Wrappers: what the wrapped functions of MPI share.
//
// A program's requests, and its matched messages, are known by their handles from the call that
// makes them to the one that ends them, so that the receive which a status belongs to is known.
#ifndef NETMOD_PIGGYBACK_WRAPPERS_H_
#define NETMOD_PIGGYBACK_WRAPPERS_H_

#include <mpi.h>

#include <cstdint>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "netmod/piggyback/use.h"

namespace mad::piggyback {

/// The library's state in a program: at most one use, from MPI_Init() to MPI_Finalize().
class Tool {
 public:
  static Tool& get();

  void start();
  void finish();
  /// Has a new communicator's messages take the value along; collective on it.
  void adopt(MPI_Comm comm);

  /// A receive, or a probe, that is about to be posted.
  Receive wanted(int source, int tag, MPI_Comm comm);
  void sending();
  void posted(MPI_Request request, const Receive& receive, bool persistent);
  void started(MPI_Request request);
  void forget(MPI_Request request);
  void matched(MPI_Message message, const Receive& receive);
  Receive take(MPI_Message message);
  /// It has ended with this status.
  void received(Receive receive, const MPI_Status& status);
  /// This request, as it was before the call, has ended.
  void completed(MPI_Request request, const MPI_Status& status);
  void called(const char* name, std::int64_t start);

 private:
  struct Posted {
    Receive receive;
    bool persistent = false;
  };
  static void on_message(MPI_Comm comm, const MPI_Status* status, int collective, const void* value,
                         int bytes, void* tool);

  std::mutex mutex_;
  std::unique_ptr<Use> use_;  // null: none is asked for
  std::uint64_t posted_ = 0;
  std::unordered_map<MPI_Request, Posted> requests_;
  std::unordered_map<MPI_Message, Receive> messages_;
};

/// A call of MPI from here to the end of the scope.
class Timed {
 public:
  explicit Timed(const char* name) : name_(name), start_(now()) {}
  ~Timed() { Tool::get().called(name_, start_); }
  Timed(const Timed&) = delete;
  Timed& operator=(const Timed&) = delete;

 private:
  const char* name_;
  std::int64_t start_;
};

}  // namespace mad::piggyback

#endif  // NETMOD_PIGGYBACK_WRAPPERS_H_
