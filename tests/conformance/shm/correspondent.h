// Correspondent: a peer of a shm engine that a test plays by hand.
#ifndef TESTS_CONFORMANCE_SHM_CORRESPONDENT_H_
#define TESTS_CONFORMANCE_SHM_CORRESPONDENT_H_

#include <unistd.h>

#include <cstring>
#include <optional>
#include <vector>

#include "madlike/driver/door/handshake.h"
#include "tests/conformance/shm/engine.h"

namespace mad {

/// Writes letters by hand, as who knows the secret of an engine can, and reads the answers.
class Correspondent {
 public:
  explicit Correspondent(const ShmEngine& other) : secret_(secret_of(other)) {
    EXPECT_TRUE(box_.ok()) << box_.status().message();
    to_send.sender = {static_cast<std::uint32_t>(getpid()), own_};
    to_send.session = 7;
    to_send.place_bytes = kShmPlaceBytes;
    to_send.piece_bytes = kShmPieceBytes;
  }
  std::vector<std::byte> address() const { return address_of(getpid(), own_); }
  Status send(int file = -1) {
    const auto letter = to_send.seal(secret_);
    return box_->send(secret_, letter.data(), letter.size(), file);
  }
  std::optional<ShmGreeting> answer(ShmEngine& engine) {
    ShmPostbox::Letter letter;
    if (!pump({&engine}, [&] { return box_->receive(&letter); })) return std::nullopt;
    return ShmGreeting::open(letter.bytes.data(), letter.size, own_);
  }
  bool has_letter() {
    ShmPostbox::Letter letter;
    return box_->receive(&letter);
  }
  ShmGreeting to_send;

 private:
  static DoorSecret secret_of(const ShmEngine& engine) {
    DoorSecret secret;
    std::memcpy(secret.data(), engine.driver->address().data() + 8, secret.size());
    return secret;
  }
  const DoorSecret own_ = random_secret(), secret_;
  Result<ShmPostbox> box_ = ShmPostbox::open(own_);
};

}  // namespace mad

#endif  // TESTS_CONFORMANCE_SHM_CORRESPONDENT_H_
