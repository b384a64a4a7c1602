// Exposures: memory that peers may write, where a driver brings the bytes there itself.
#ifndef MADLIKE_DRIVER_MEMORY_EXPOSURES_H_
#define MADLIKE_DRIVER_MEMORY_EXPOSURES_H_

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "madlike/base/segment.h"
#include "madlike/driver/driver.h"

namespace mad {

/// Only the peer of `connection` may write there, so that the key need not be a secret.
struct Exposure {
  /// The runs of its bytes from `offset` on, at most `bytes` of them; their number.
  std::size_t runs(std::uint64_t offset, std::size_t bytes, Segment* out,
                   std::size_t capacity) const;
  /// Whether that many bytes from there on are within it.
  bool holds(std::uint64_t offset, std::uint64_t bytes) const {
    return offset <= size && bytes <= size - offset;
  }

  /// Has move(SegmentList) fill `bytes` of it from `offset` on, one list of runs of at most
  /// `capacity` after the other, listed in `places`; ends with what move() says if that is not ok.
  /// kPeerFailed: the memory lists no runs.
  template <typename Move>
  Status fill(std::uint64_t offset, std::uint64_t bytes, Segment* places, std::size_t capacity,
              const Move& move) const {
    for (std::uint64_t done = 0; done < bytes;) {
      const std::size_t count = runs(offset + done, bytes - done, places, capacity);
      if (count == 0)
        return {StatusCode::kPeerFailed, "the memory lists no runs, or none any more"};
      const SegmentList list{places, count};
      Status moved = move(list);
      if (!moved.ok()) return moved;
      done += list.bytes();
    }
    return {};
  }

  ConnectionId connection = 0;
  std::uint64_t size = 0;
  Segment run;                           // all of it, or
  ScatteredMemory* scattered = nullptr;  // from its byte `first` on
  std::uint64_t first = 0;
};

class Exposures {
 public:
  ExposureToken add(const Exposure& exposure);
  /// False: there is none by this key.
  bool remove(std::uint64_t key);
  /// What the peer of `connection` may write by this key, or null: nothing.
  const Exposure* find(ConnectionId connection, std::uint64_t key) const;

  /// Exposure::fill() of the places where `bytes` of such a write belong.  kProtocol: the peer may
  /// not write there.
  template <typename Move>
  Status fill(ConnectionId connection, const ExposureToken& at, std::uint64_t bytes,
              Segment* places, std::size_t capacity, const Move& move) const {
    const Exposure* const exposure = find(connection, at.key);
    if (exposure == nullptr || !exposure->holds(at.address, bytes)) {
      return {StatusCode::kProtocol, "a write where none is allowed"};
    }
    return exposure->fill(at.address, bytes, places, capacity, move);
  }

 private:
  using Table = std::unordered_map<std::uint64_t, Exposure>;
  Table table_;
  std::vector<Table::node_type> spare_;  // so that exposing allocates nothing
  std::uint64_t next_key_ = 1;
};

}  // namespace mad

#endif  // MADLIKE_DRIVER_MEMORY_EXPOSURES_H_
