// What an engine's address names and who connects to it has to know.
#ifndef MADLIKE_DRIVER_DOOR_SECRET_H_
#define MADLIKE_DRIVER_DOOR_SECRET_H_

#include <array>
#include <cstddef>

namespace mad {

using DoorSecret = std::array<std::byte, 16>;

}  // namespace mad

#endif  // MADLIKE_DRIVER_DOOR_SECRET_H_
