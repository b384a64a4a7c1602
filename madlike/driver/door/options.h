// What a user may say of a door, and of the driver behind it.
#ifndef MADLIKE_DRIVER_DOOR_OPTIONS_H_
#define MADLIKE_DRIVER_DOOR_OPTIONS_H_

#include <chrono>
#include <optional>
#include <string>

#include "madlike/driver/door/secret.h"
#include "madlike/driver/door/silence.h"

namespace mad {

struct DoorOptions {
  std::string interface;  // network interface, e.g. "lo"; empty: the first that others can reach
  std::optional<DoorSecret> secret;  // of this engine's address; empty: a new one
  /// How long a host may leave a connection attempt without any answer.  A host that answered may
  /// take its time: its engine accepts when it is polled.  Time without poll() does not count.
  std::chrono::milliseconds connect_timeout{10000};
  /// How long who connected to us may take to prove that it knows our address.
  std::chrono::milliseconds stranger_timeout{60000};
  /// How long it may do so for sure when others wait for its place.
  std::chrono::milliseconds stranger_grace{1000};
  /// How long a host may leave what it is sent without any answer of its kernel before its
  /// connections end; 0: as long as the system's settings say.
  std::chrono::milliseconds silence_timeout = Silence::kTimeout;
};

struct DoorDriverOptions : DoorOptions {
  /// How long a connection that disconnect() ends may stay without its peer taking anything.
  std::chrono::milliseconds close_timeout{10000};
  /// How long closing the driver may wait for connections that are closing.
  std::chrono::milliseconds linger{2000};
};

}  // namespace mad

#endif  // MADLIKE_DRIVER_DOOR_OPTIONS_H_
