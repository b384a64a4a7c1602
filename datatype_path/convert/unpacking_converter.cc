#include "datatype_path/convert/unpacking_converter.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <string>
#include <utility>

#include "datatype_path/convert/fragment_walk.h"

namespace mad {

UnpackingConverter::UnpackingConverter(std::shared_ptr<const ConversionPlan> plan, void* base,
                                       std::uint64_t count)
    : plan_(std::move(plan)),
      base_(reinterpret_cast<std::uintptr_t>(base)),
      total_(plan_->remote_bytes(count).value()),
      cursor_(plan_->program(), count) {
  kept(0);
  spare_ = parted_.extract(0);
}

Status UnpackingConverter::unpack(std::uint64_t offset, const void* bytes, std::size_t size) {
  if (offset > total_ || size > total_ - offset) {
    return Status(StatusCode::kProtocol, "conversion: bytes up to " + std::to_string(offset) +
                                             " + " + std::to_string(size) +
                                             " go beyond the data's " + std::to_string(total_));
  }
  const auto* const in = static_cast<const std::byte*>(bytes);
  misfit_ = {};
  try {
    walk_fragment(
        *plan_, cursor_, offset, size,
        [&](std::size_t at, std::uint64_t elements) { convert(in + at, elements); },
        [&](std::size_t at, std::size_t byte) { return keep(byte, in + at, size - at); });
  } catch (const std::bad_alloc&) {
    return StatusCode::kNoMemory;  // a sentence would take some
  }
  return misfit_;
}

// The element at `position` as far as it has arrived; a new one is empty.
UnpackingConverter::Element& UnpackingConverter::kept(std::uint64_t position) {
  const auto found = parted_.find(position);
  if (found != parted_.end()) return found->second;
  if (spare_.empty()) return parted_[position];
  spare_.key() = position;
  spare_.mapped() = {};
  return parted_.insert(std::move(spare_)).position->second;
}

// Takes what there is of the cursor's element from its byte `byte` on; returns how many bytes.
std::size_t UnpackingConverter::keep(std::size_t byte, const std::byte* in, std::size_t size) {
  const std::uint64_t position = cursor_.position();
  const std::size_t each = plan_->remote_size_of(cursor_.run().type);
  const std::size_t taken = std::min(size, each - byte);
  Element& element = kept(position);
  std::memcpy(element.bytes.data() + byte, in, taken);
  element.arrived |= ((std::uint64_t{1} << taken) - 1) << byte;
  if (element.arrived == (std::uint64_t{1} << each) - 1) {
    convert(element.bytes.data(), 1);
    spare_ = parted_.extract(position);
  } else if (byte + taken == each) {
    cursor_.advance(1);
  }
  return taken;
}

// Converts the next `elements` (<= the run's) elements and advances.
void UnpackingConverter::convert(const std::byte* in, std::uint64_t elements) {
  const TypedRun& run = cursor_.run();
  const auto each = static_cast<std::int64_t>(plan_->remote_size_of(run.type));
  const std::uint64_t misfit = plan_->to_local(run.type).apply(
      {reinterpret_cast<std::uintptr_t>(in), each},
      {base_ + static_cast<std::uint64_t>(run.offset), run.stride}, elements);
  if (misfit < elements && misfit_.ok()) {
    misfit_ = ConversionPlan::misfit(cursor_.position() + misfit, run.type, size_of(run.type));
  }
  cursor_.advance(elements);
}

}  // namespace mad
