#include "datatype_path/convert/conversion_plan.h"

#include <algorithm>
#include <limits>
#include <new>

namespace mad {
namespace {

constexpr std::uint64_t kMost = std::uint64_t{1} << 58;

}  // namespace

ConversionPlan::ConversionPlan(ByteIndex local_index, ByteIndex remote_index,
                               const Architecture& remote)
    : local_index_(std::move(local_index)), remote_index_(std::move(remote_index)) {
  const Architecture local = Architecture::local();
  to_local_.reserve(kBasicTypes);
  to_remote_.reserve(kBasicTypes);
  for (std::size_t i = 0; i < kBasicTypes; ++i) {
    const auto type = static_cast<BasicType>(i);
    to_local_.emplace_back(remote, local, type);
    to_remote_.emplace_back(local, remote, type);
  }
}

Result<std::shared_ptr<const ConversionPlan>> ConversionPlan::make(
    std::shared_ptr<const TypedProgram> program, const Architecture& remote) {
  Status possible = remote.check();
  if (!possible.ok()) return possible;
  try {
    auto local = ByteIndex::build(program, Architecture::local().sizes());
    if (!local.ok()) return local.status();
    auto there = ByteIndex::build(std::move(program), remote.sizes());
    if (!there.ok()) return there.status();
    std::shared_ptr<const ConversionPlan> plan(
        new ConversionPlan(std::move(*local), std::move(*there), remote));
    for (const TypedNode& node : plan->program().nodes()) {
      if (!node.run || node.run->count == 0) continue;
      const BasicType type = node.run->type;
      if (plan->to_local(type).possible() && plan->to_remote(type).possible()) continue;
      return Status(StatusCode::kUnrepresentable,
                    "conversion: the datatype has a " + std::string(info(type).name) +
                        ", which one side keeps as a sum of two doubles; there is no conversion "
                        "of that");
    }
    return plan;
  } catch (const std::bad_alloc&) {
    return Status(StatusCode::kNoMemory, "no memory for a datatype's conversion plan");
  }
}

Result<std::uint64_t> ConversionPlan::remote_bytes(std::uint64_t count) const {
  std::uint64_t bytes = 0;
  if (__builtin_mul_overflow(count, remote_index_.bytes(), &bytes) ||
      bytes > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
    return Status(StatusCode::kInvalidArgument,
                  "conversion: the data's packed bytes exceed 2^63 - 1 in the other "
                  "representation");
  }
  return bytes;
}

std::uint64_t ConversionPlan::local_bytes(std::uint64_t remote) const {
  if (remote_index_.bytes() == 0) return remote;
  // Of more, which no memory has, the product would not fit.
  static_assert(kMost <= UINT64_MAX / kMaxBasicBytes);
  const ByteIndex::Place end = remote_index_.find(std::min(remote, kMost));
  const std::uint64_t start = local_index_.start(end.element);
  if (end.byte == 0) return start;
  const std::uint64_t part = local_index_.start(end.element + 1) - start - 1;
  return start + std::min(end.byte, part);
}

Status ConversionPlan::misfit(std::uint64_t element, BasicType type, std::uint64_t bytes) {
  return Status(StatusCode::kUnrepresentable,
                "conversion: basic element " + std::to_string(element) + " of the data, a " +
                    std::string(info(type).name) + ", does not fit the " + std::to_string(bytes) +
                    " bytes of its place");
}

}  // namespace mad
