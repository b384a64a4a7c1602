// ConvertingSink: a payload from a machine that represents data otherwise, made right as it
// arrives.
//
// Offsets and lengths are the sender's.  Nobody may write or read the memory behind it but by
// place(): what arrives is not what belongs there.  Fragments may come in any order; an element
// that a cut parts is kept by the converter (unpacking_converter.h says how many there can be).
#ifndef DATATYPE_PATH_TRANSFER_CONVERTING_SINK_H_
#define DATATYPE_PATH_TRANSFER_CONVERTING_SINK_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "datatype_path/convert/conversion_plan.h"
#include "datatype_path/convert/unpacking_converter.h"
#include "madlike/base/segment.h"
#include "madlike/message/messenger.h"

namespace mad {

class ConvertingSink final : public PayloadSink {
 public:
  /// Into `count` elements of the plan's type at `base`; plan->remote_bytes(count) must be a value.
  /// Throws std::bad_alloc if there is no memory.
  ConvertingSink(std::shared_ptr<const ConversionPlan> plan, void* base, std::uint64_t count)
      : converter_(std::move(plan), base, count) {}

  /// The sender's bytes that there is room for.
  std::uint64_t total() const { return converter_.total(); }

  void place(std::uint64_t offset, Segment bytes) override;
  std::size_t runs(std::uint64_t, std::uint64_t, Segment*, std::size_t) override { return 0; }
  Status result() const override { return failure_; }

 private:
  UnpackingConverter converter_;
  Status failure_;  // the first
};

}  // namespace mad

#endif  // DATATYPE_PATH_TRANSFER_CONVERTING_SINK_H_
