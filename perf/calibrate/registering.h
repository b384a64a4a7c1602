// What registering memory with a fabric costs.
#ifndef PERF_CALIBRATE_REGISTERING_H_
#define PERF_CALIBRATE_REGISTERING_H_

#include "datatype_path/plan/costs.h"
#include "madlike/driver/driver.h"

namespace calibrate {

/// Sets the prices of registering: of one that exposes memory to `peer` and withdraws it, the least
/// of `rounds` for 64 KiB and for 1 MiB.  Connects the two, which only this thread polls.  Throws
/// std::runtime_error where they do not connect within 10 s or memory cannot be exposed.
void measure_registering(mad::Driver& driver, mad::Driver& peer, int rounds, mad::Costs* costs);

}  // namespace calibrate

#endif  // PERF_CALIBRATE_REGISTERING_H_
