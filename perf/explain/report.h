// report: what this engine does with a layout over one fabric, and why, as text.
//
// Nothing is sent: a plan is a pure function of the layout, the fabric's capabilities and costs,
// and so is this.
#ifndef PERF_EXPLAIN_REPORT_H_
#define PERF_EXPLAIN_REPORT_H_

#include <cstdint>
#include <string>

#include "datatype_path/plan/plan.h"
#include "datatype_path/program/shape.h"

namespace explain {

/// Capabilities, of each kind of its links.
std::string fabric_text(const mad::DriverCaps& caps);

/// The costs of a policy for links of `fabric`, and the lengths of runs that follow from them.
std::string costs_text(const mad::Policy& policy, const std::string& fabric);

/// The plans of every mode for `count` elements of a shape, to send and to receive: predicted
/// times, packets, bytes copied and referenced, and the reasons; what auto takes.
std::string plans_text(const mad::Shape& shape, std::uint64_t count, const mad::Policy& policy);

}  // namespace explain

#endif  // PERF_EXPLAIN_REPORT_H_
