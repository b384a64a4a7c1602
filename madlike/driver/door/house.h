// House: a door of a test on lo.
#ifndef MADLIKE_DRIVER_DOOR_HOUSE_H_
#define MADLIKE_DRIVER_DOOR_HOUSE_H_

#include <chrono>
#include <functional>
#include <thread>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "madlike/driver/door/door.h"

namespace mad {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

inline constexpr DoorMagic kMagic{'M', 'A', 'D', 'D', 'O', 'R'};

/// A door and what it told.
struct House {
  explicit House(const DoorMagic& magic = kMagic, milliseconds stranger_timeout = milliseconds(200))
      : House(magic, stranger_timeout, stranger_timeout / 4) {}
  House(const DoorMagic& magic, milliseconds stranger_timeout, milliseconds stranger_grace)
      : door(open(magic, stranger_timeout, stranger_grace)) {}
  static Door open(const DoorMagic& magic, milliseconds stranger_timeout,
                   milliseconds stranger_grace) {
    DoorOptions options;
    options.interface = "lo";
    options.connect_timeout = milliseconds(1000);
    options.stranger_timeout = stranger_timeout;
    options.stranger_grace = stranger_grace;
    options.silence_timeout = milliseconds(1000);
    Result<Door> opened = Door::open({"door", magic}, options);
    EXPECT_TRUE(opened.ok()) << opened.status().message();
    return std::move(*opened);
  }
  void call(const House& other) {
    const auto peer = door.parse(other.door.address().data(), other.door.address().size());
    ASSERT_TRUE(peer.ok()) << peer.status().message();
    door.call(*peer);
  }
  Door door;
  std::vector<Door::Event> events;
  std::vector<std::uint32_t> ready;
};

/// Looks at all houses until `done` holds; false: it did not in time.
inline bool pump(const std::vector<House*>& houses, const std::function<bool()>& done) {
  const auto deadline = Clock::now() + milliseconds(40000);
  constexpr unsigned kTurnsPerYield = 64;  // a yield may give away a time slice of the core
  for (unsigned turn = 1; !done(); ++turn) {
    for (House* house : houses) house->door.look(&house->events, &house->ready);
    if (Clock::now() > deadline) return false;
    if (turn % kTurnsPerYield == 0) std::this_thread::yield();
  }
  return true;
}

}  // namespace mad

#endif  // MADLIKE_DRIVER_DOOR_HOUSE_H_
