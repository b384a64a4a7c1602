// LateDriver: for tests, an engine's driver that tells what happens later than it happens.
#ifndef MADLIKE_MESSAGE_LATE_DRIVER_H_
#define MADLIKE_MESSAGE_LATE_DRIVER_H_

#include "madlike/driver/loopback/loopback.h"

namespace mad {

class LateDriver : public LoopbackDriver {
 public:
  using LoopbackDriver::LoopbackDriver;
  std::size_t poll(Completion* out, std::size_t capacity) override {
    return LoopbackDriver::poll(out, late ? 0 : capacity);
  }
  bool late = true;
};

}  // namespace mad

#endif  // MADLIKE_MESSAGE_LATE_DRIVER_H_
