#include "datatype_path/convert/conversion_plans.h"

#include <algorithm>
#include <new>
#include <utility>

namespace mad {

Result<std::shared_ptr<const ConversionPlan>> ConversionPlans::find(const TypeDescPtr& type,
                                                                    const Architecture& remote) {
  ++requests_;
  for (Entry& entry : entries_) {
    if (entry.remote != &remote || &entry.plan->program().type() != type.get()) continue;
    entry.used = requests_;
    return entry.plan;
  }
  auto typed = TypedProgram::build(type);
  if (!typed.ok()) return typed.status();
  auto plan = ConversionPlan::make(std::move(*typed), remote);
  if (!plan.ok()) return plan;
  const Entry made{&remote, requests_, *plan};
  try {
    if (entries_.size() < kMost) {
      entries_.push_back(made);
    } else {
      const auto earlier = [](const Entry& a, const Entry& b) { return a.used < b.used; };
      *std::min_element(entries_.begin(), entries_.end(), earlier) = made;
    }
  } catch (const std::bad_alloc&) {
    return plan;  // made again for the next message
  }
  return plan;
}

}  // namespace mad
