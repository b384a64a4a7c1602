// ReceiveTransfer: the payload of one receive in flight, placed as its Plan says.
//
// It is started once, gives the message layer its PayloadSink, and is finished when everything
// arrived. Lives in the engine's pool: starting allocates nothing unless the plan is to collect
// everything first, or this is the first matrix by columns of its engine (line_sink.h).
#ifndef DATATYPE_PATH_TRANSFER_RECEIVE_TRANSFER_H_
#define DATATYPE_PATH_TRANSFER_RECEIVE_TRANSFER_H_

#include <variant>

#include "datatype_path/plan/plan.h"
#include "datatype_path/transfer/layout_transfer.h"
#include "datatype_path/transfer/line_sink.h"
#include "datatype_path/transfer/packed_transfer.h"
#include "datatype_path/transfer/run_transfer.h"

namespace mad {

class ReceiveTransfer {
 public:
  PayloadSink& start_run(Segment run) { return sink_.emplace<RunSink>(run); }
  /// The first `bytes` of `count` elements of `program` at `base`; throws std::bad_alloc if the
  /// plan needs a buffer it cannot get.  Pieces wait in `lines`, which lives as long as this, where
  /// that makes whole lines of them; null: all comes at once.
  PayloadSink& start_layout(const BlockProgramPtr& program, void* base, std::uint64_t count,
                            std::uint64_t bytes, const Plan& plan, LineMemory* lines);

  /// To be called when `bytes` of the payload were placed without error.
  void finish(std::uint64_t bytes) {
    if (auto* packed = std::get_if<PackedSink>(&sink_)) packed->finish(bytes);
    if (auto* lines = std::get_if<LineSink>(&sink_)) lines->finish();
  }

 private:
  std::variant<std::monostate, RunSink, LayoutSink, LineSink, PackedSink> sink_;
};

}  // namespace mad

#endif  // DATATYPE_PATH_TRANSFER_RECEIVE_TRANSFER_H_
