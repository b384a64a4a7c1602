// SendTransfer: the payload of one send in flight, moved as its Plan says.
//
// It is started once, gives the message layer its PayloadSource, and is destroyed when the message
// has left. Lives in the engine's pool: starting allocates nothing unless the plan is to pack
// everything.
#ifndef DATATYPE_PATH_TRANSFER_SEND_TRANSFER_H_
#define DATATYPE_PATH_TRANSFER_SEND_TRANSFER_H_

#include <variant>

#include "datatype_path/plan/plan.h"
#include "datatype_path/transfer/layout_transfer.h"
#include "datatype_path/transfer/packed_transfer.h"
#include "datatype_path/transfer/run_transfer.h"

namespace mad {

class SendTransfer {
 public:
  /// One run; pieces of at least `reference_from` bytes are referenced.
  PayloadSource& start_run(Segment run, std::uint64_t reference_from) {
    return source_.emplace<RunSource>(run, reference_from);
  }
  /// `count` elements of `program` at `base`; throws std::bad_alloc if the plan needs a buffer it
  /// cannot get.
  PayloadSource& start_layout(const BlockProgramPtr& program, void* base, std::uint64_t count,
                              const Plan& plan);

 private:
  std::variant<std::monostate, RunSource, LayoutSource, PackedSource> source_;
};

}  // namespace mad

#endif  // DATATYPE_PATH_TRANSFER_SEND_TRANSFER_H_
