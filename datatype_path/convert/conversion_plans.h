// ConversionPlans: those that were needed lately, so that one is not made for each message.
//
// Bounded: the plan that was not asked for longest makes room.  A plan keeps its type's description
// alive, so that a description's address names it as long as its plan is here.
#ifndef DATATYPE_PATH_CONVERT_CONVERSION_PLANS_H_
#define DATATYPE_PATH_CONVERT_CONVERSION_PLANS_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "datatype_path/convert/conversion_plan.h"
#include "datatype_path/describe/type_desc.h"

namespace mad {

class ConversionPlans {
 public:
  static constexpr std::size_t kMost = 64;

  /// For data of `type` with `remote`, an architecture that lives as long as this.  Errors as
  /// TypedProgram::build() and ConversionPlan::make() have them.
  Result<std::shared_ptr<const ConversionPlan>> find(const TypeDescPtr& type,
                                                     const Architecture& remote);

  std::size_t size() const { return entries_.size(); }

 private:
  struct Entry {
    const Architecture* remote;
    std::uint64_t used;  // when, in requests
    std::shared_ptr<const ConversionPlan> plan;
  };

  std::vector<Entry> entries_;
  std::uint64_t requests_ = 0;
};

}  // namespace mad

#endif  // DATATYPE_PATH_CONVERT_CONVERSION_PLANS_H_
