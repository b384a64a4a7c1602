// mad_type: what a type handle of the C interface points to.
//
// A description, the program compiled from it at commit, and the signature and what external32
// makes of it once somebody asks for them.  Handles are counted references; receives and messages
// to oneself that wait have one, and transfers in flight hold the program themselves, so that
// releasing a handle never waits.  Types may be used by several threads: the description never
// changes, all else is published once.
#ifndef NETMOD_ABI_TYPES_H_
#define NETMOD_ABI_TYPES_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <ext/atomicity.h>
#include <memory>
#include <mutex>

#include "datatype_path/convert/conversion_plan.h"
#include "datatype_path/describe/type_desc.h"
#include "datatype_path/program/block_program.h"
#include "datatype_path/signature/type_signature.h"
#include "netmod/abi/errors.h"

namespace mad {

/// What is made when it is first asked for, by one thread, and read by all from then on.
template <typename T>
class MadeOnce {
 public:
  /// `make` returns a Result of a shared pointer.  An error is returned and not kept: the next call
  /// tries again.  What is returned lives as long as this.
  template <typename Make>
  Result<const std::shared_ptr<const T>*> get(Make&& make) {
    if (is_made_.load(std::memory_order_acquire)) return &value_;
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!is_made_.load(std::memory_order_relaxed)) {
      auto made = make();
      if (!made.ok()) return made.status();
      value_ = std::move(made.value());
      is_made_.store(true, std::memory_order_release);
    }
    return &value_;
  }

 private:
  std::mutex mutex_;
  std::shared_ptr<const T> value_;  // written once, before `is_made_`
  std::atomic<bool> is_made_{false};
};

}  // namespace mad

struct mad_type {
  explicit mad_type(mad::TypeDescPtr description) : desc(std::move(description)) {}
  /// Of another process, which is compiled; `stand_in` is as long, and says nothing of the layout.
  mad_type(mad::TypeDescPtr stand_in, std::shared_ptr<const mad::BlockProgram> its_program)
      : desc(std::move(stand_in)),
        foreign(true),
        committed(true),
        program(std::move(its_program)) {}

  /// The compiled program; null before commit.
  const std::shared_ptr<const mad::BlockProgram>* compiled() const {
    return committed.load(std::memory_order_acquire) ? &program : nullptr;
  }

  /// The signature, made at the first call; the type keeps it.
  mad::Result<const mad::TypeSignature*> signature() const;
  /// How its elements are represented in MPI's external32, likewise.
  mad::Result<std::shared_ptr<const mad::ConversionPlan>> external() const;

  /// One more reference, and one less, with which the type may end; of atomic words where there is
  /// another thread.
  void retain() const { __gnu_cxx::__atomic_add_dispatch(&references_, 1); }
  void release() const {
    if (__gnu_cxx::__exchange_and_add_dispatch(&references_, -1) == 1) delete this;
  }

  const mad::TypeDescPtr desc;
  const bool foreign = false;  // `desc` is a stand-in, by which nothing is converted
  std::mutex commit_mutex;
  std::atomic<bool> committed{false};
  std::shared_ptr<const mad::BlockProgram> program;  // written once, before `committed`

 private:
  mutable _Atomic_word references_ = 1;
  mutable mad::MadeOnce<mad::TypeSignature> signature_;
  mutable mad::MadeOnce<mad::ConversionPlan> external_;
};

namespace mad {

/// `function` names the caller in the error's sentence.
int check_committed(const mad_type* type, const char* function);

/// Packed bytes of `count` elements of `size` bytes; an error if that is more than memory can have.
int total_bytes(std::uint64_t size, std::uint64_t count, const char* function,
                std::uint64_t* bytes);
inline int total_bytes(const BlockProgram& program, std::uint64_t count, const char* function,
                       std::uint64_t* bytes) {
  return total_bytes(program.size(), count, function, bytes);
}

/// Copies `bytes` (> 0) of the packed stream, from its byte `offset` on, which both have; a type
/// that is null: bytes.
void copy_elements(const void* from, std::uint64_t from_count, const mad_type* from_type, void* to,
                   std::uint64_t to_count, const mad_type* to_type, std::uint64_t offset,
                   std::size_t bytes);

}  // namespace mad

#endif  // NETMOD_ABI_TYPES_H_
