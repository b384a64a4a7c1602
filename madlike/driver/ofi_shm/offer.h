// What two engines say to each other on the control socket of their connection.
//
// Each sends an offer first: how it lays shared memory out, and where its part of it is to be
// found. Who has opened what the other offered says so in a note.  docs/ofi_shm_protocol.md has the
// bytes.
#ifndef MADLIKE_DRIVER_OFI_SHM_OFFER_H_
#define MADLIKE_DRIVER_OFI_SHM_OFFER_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace mad {

struct OfiShmOffer {
  using Geometry = std::array<std::uint32_t, 6>;
  static constexpr std::size_t kBytes = 176;
  static constexpr std::size_t kMostName = 64;  // with the 0 behind it

  std::array<std::byte, kBytes> pack() const;
  /// Empty: no engine of this version sends this.
  static std::optional<OfiShmOffer> parse(const std::byte* bytes);

  std::uint64_t tag = 0;     // what the other side's messages are to name
  std::uint64_t secret = 0;  // of the gate, if this side makes it
  /// What both sides must have alike: each writes by its own into the other's memory.
  Geometry geometry{};
  std::string endpoint;  // its name
  std::string gate;      // its name, if this side makes it
};

struct OfiShmNote {
  enum class Kind : std::uint32_t {
    kReady = 1,  // the sender has opened what the receiver offered
    kWake        // the receiver slept, and has something to look at
  };
  static constexpr std::size_t kBytes = 8;

  std::array<std::byte, kBytes> pack() const;
  static std::optional<OfiShmNote> parse(const std::byte* bytes);

  Kind kind = Kind::kReady;
};

}  // namespace mad

#endif  // MADLIKE_DRIVER_OFI_SHM_OFFER_H_
