// Measuring the costs that plans are made of (datatype_path/plan/costs.h), on this machine.
#ifndef PERF_CALIBRATE_MEASURE_H_
#define PERF_CALIBRATE_MEASURE_H_

#include <functional>
#include <string>

#include "datatype_path/plan/costs.h"

namespace calibrate {

struct Measurement {
  std::string fabric;  // its own name
  mad::Costs costs;
};

/// Told what is measured next.
using Progress = std::function<void(const std::string&)>;

/// All costs of one fabric.  Each is taken from the least of `rounds` rounds of two transfers that
/// differ in one thing.  Throws std::runtime_error where the fabric does not work.
Measurement measure(const std::string& fabric, const std::string& interface, int rounds,
                    const Progress& progress);

/// The price of one thing by which two transfers differ, but at least a tenth of the usual one:
/// noise may turn a small difference around, and plans would then split messages into crumbs.
double price(double dearer_ns, double cheaper_ns, double things, double usual);

}  // namespace calibrate

#endif  // PERF_CALIBRATE_MEASURE_H_
