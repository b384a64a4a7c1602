#include "datatype_path/convert/packing_converter.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <string>
#include <utility>

#include "datatype_path/convert/fragment_walk.h"

namespace mad {

PackingConverter::PackingConverter(std::shared_ptr<const ConversionPlan> plan, const void* base,
                                   std::uint64_t count)
    : plan_(std::move(plan)),
      base_(reinterpret_cast<std::uintptr_t>(base)),
      total_(plan_->remote_bytes(count).value()),
      cursor_(plan_->program(), count) {}

Status PackingConverter::pack(std::uint64_t offset, void* out, std::size_t size) {
  if (offset > total_ || size > total_ - offset) {
    return Status(StatusCode::kInvalidArgument,
                  "conversion: bytes up to " + std::to_string(offset) + " + " +
                      std::to_string(size) + " go beyond the data's " + std::to_string(total_));
  }
  auto* const to = static_cast<std::byte*>(out);
  misfit_ = {};
  walk_fragment(
      *plan_, cursor_, offset, size,
      [&](std::size_t at, std::uint64_t elements) { convert(to + at, elements); },
      [&](std::size_t at, std::size_t byte) { return pack_part(byte, to + at, size - at); });
  return misfit_;
}

// Writes what there is room for of the cursor's element from its byte `byte` on; returns how many
// bytes.
std::size_t PackingConverter::pack_part(std::size_t byte, std::byte* out, std::size_t size) {
  std::array<std::byte, kMaxBasicBytes> element;
  const std::size_t each = plan_->remote_size_of(cursor_.run().type);
  const std::size_t written = std::min(size, each - byte);
  convert(element.data(), 1);
  std::memcpy(out, element.data() + byte, written);
  return written;
}

// Converts the next `elements` (<= the run's) elements and advances.
void PackingConverter::convert(std::byte* out, std::uint64_t elements) {
  const TypedRun& run = cursor_.run();
  const std::uint64_t each = plan_->remote_size_of(run.type);
  const std::uint64_t misfit = plan_->to_remote(run.type).apply(
      {base_ + static_cast<std::uint64_t>(run.offset), run.stride},
      {reinterpret_cast<std::uintptr_t>(out), static_cast<std::int64_t>(each)}, elements);
  if (misfit < elements && misfit_.ok()) {
    misfit_ = ConversionPlan::misfit(cursor_.position() + misfit, run.type, each);
  }
  cursor_.advance(elements);
}

}  // namespace mad
