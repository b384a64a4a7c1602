#include "datatype_path/transfer/send_transfer.h"

#include <cstddef>

#include "datatype_path/cursor/cursor.h"

namespace mad {

static_assert(Plan::kNever == LayoutSource::kNeverReference);

PayloadSource& SendTransfer::start_layout(const BlockProgramPtr& program, void* base,
                                          std::uint64_t count, const Plan& plan) {
  if (plan.path == Path::kPack) {
    return source_.emplace<PackedSource>(*program, base, count, plan.reference_from);
  }
  if (plan.path == Path::kContiguous) {
    Cursor cursor(*program, base, count);
    return start_run(cursor.next_run(static_cast<std::size_t>(cursor.total())),
                     plan.reference_from);
  }
  return source_.emplace<LayoutSource>(program, base, count, plan.reference_from);
}

}  // namespace mad
