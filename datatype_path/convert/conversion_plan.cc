#include "datatype_path/convert/conversion_plan.h"

#include <limits>
#include <new>

namespace mad {

ConversionPlan::ConversionPlan(ByteIndex remote_index, const Architecture& remote)
    : remote_index_(std::move(remote_index)) {
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
    auto index = ByteIndex::build(std::move(program), remote.sizes());
    if (!index.ok()) return index.status();
    std::shared_ptr<const ConversionPlan> plan(
        new ConversionPlan(std::move(index.value()), remote));
    for (const TypedNode& node : plan->program().nodes()) {
      if (!node.run || node.run->count == 0) continue;
      const BasicType type = node.run->type;
      if (plan->to_local(type).possible() && plan->to_remote(type).possible()) continue;
      return Status(StatusCode::kInvalidArgument,
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

Status ConversionPlan::misfit(std::uint64_t element, BasicType type, std::uint64_t bytes) {
  return Status(StatusCode::kInvalidArgument,
                "conversion: basic element " + std::to_string(element) + " of the data, a " +
                    std::string(info(type).name) + ", does not fit the " + std::to_string(bytes) +
                    " bytes it has on the receiving side");
}

}  // namespace mad
