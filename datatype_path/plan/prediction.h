// Prediction: what a plan costs, for choosing between plans and for telling users why.
#ifndef DATATYPE_PATH_PLAN_PREDICTION_H_
#define DATATYPE_PATH_PLAN_PREDICTION_H_

#include <cstddef>
#include <cstdint>

#include "datatype_path/plan/costs.h"
#include "datatype_path/program/shape.h"
#include "madlike/driver/driver.h"

namespace mad {

/// What the sender does with a payload.
struct SendWork {
  std::uint64_t bytes = 0;     // of the payload
  std::uint64_t staged = 0;    // of them, copied
  std::uint64_t segments = 0;  // in the lists of all its packets
  std::uint64_t packets = 0;
  double copy_ns = 0;
};

/// Sending `count` elements of `shape`, runs of at least `reference_from` bytes by reference;
/// packets go at `flush_bytes` of payload (0: full).  A histogram knows lengths within a factor of
/// two, so this is an estimate where lengths differ.
SendWork send_work(const Shape& shape, std::uint64_t count, std::size_t reference_from,
                   std::size_t flush_bytes, const Costs& costs, const LinkCaps& link);

/// Half a round trip to a receiver whose memory is one run, in nanoseconds.
double predicted_ns(const SendWork& work, const Costs& costs);

}  // namespace mad

#endif  // DATATYPE_PATH_PLAN_PREDICTION_H_
