// Use: what libmad_piggyback.so does with the values that it has an unmodified program's messages
// take along.
//
// The wrappers of MPI's functions (wrappers.cc) tell a use what happens, one thread at a time.
#ifndef NETMOD_PIGGYBACK_USE_H_
#define NETMOD_PIGGYBACK_USE_H_

#include <cstddef>
#include <cstdint>
#include <memory>

#include "netmod/piggyback/races.h"

namespace mad::piggyback {

class Use {
 public:
  virtual ~Use() = default;
  /// What messages take along: bytes that are read at each send.
  virtual const void* value() const = 0;
  virtual std::size_t value_bytes() const = 0;
  /// This process is about to send, or enters a collective operation.
  virtual void sending() {}
  /// The program has a message, with this value (none: 0 bytes).
  virtual void received(const Receive& receive, const void* value, std::size_t bytes) = 0;
  /// A message of a collective operation came, inside of MPI.
  virtual void received_inside(const void* value, std::size_t bytes) = 0;
  /// A call of MPI returned; times in nanoseconds.
  virtual void called(const char* /*name*/, std::int64_t /*start*/, std::int64_t /*end*/) {}
  /// MPI_Finalize() is about to be called; collective.
  virtual void finish() = 0;
};

/// Nanoseconds by the host's clock.
std::int64_t now();

/// Of these names: "races", "trace"; null: there is none.  MPI is initialised.
std::unique_ptr<Use> make_use(const char* name);

}  // namespace mad::piggyback

#endif  // NETMOD_PIGGYBACK_USE_H_
