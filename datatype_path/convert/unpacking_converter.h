// UnpackingConverter: receives data in its sender's representation - receiver makes right.
//
// The sender sends the bytes it would send to a machine like itself; their offsets are the
// sender's.  They come in fragments of any size, cut anywhere, in any order, each byte once, and
// are written to local memory at once.
//
// An element that a cut parts is kept aside until its last byte is there.  There are at most two of
// these for each gap in what has arrived, its border elements: one while fragments come in order,
// else about as many as fragments overtook others.
//
// Fragments that come in order allocate nothing: the room for one element is made with the
// converter. Every further element that is kept at the same time allocates 64 bytes (and its share
// of a table) until it is complete: any order is taken, so no fixed number would do.
#ifndef DATATYPE_PATH_CONVERT_UNPACKING_CONVERTER_H_
#define DATATYPE_PATH_CONVERT_UNPACKING_CONVERTER_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <unordered_map>

#include "datatype_path/convert/conversion_plan.h"
#include "datatype_path/typed/typed_cursor.h"

namespace mad {

class UnpackingConverter {
 public:
  /// Into `count` elements of the plan's type at `base`; plan->remote_bytes(count) must be a value.
  /// Throws std::bad_alloc if there is no memory.
  UnpackingConverter(std::shared_ptr<const ConversionPlan> plan, void* base, std::uint64_t count);

  /// Packed bytes in the sender's representation.
  std::uint64_t total() const { return total_; }

  /// Takes the sender's bytes [offset, offset + size).  kProtocol, with nothing done, if they go
  /// beyond total(); kUnrepresentable if an integer does not fit its place here: the sentence names
  /// the first such element of the fragment, each of them is written as 0, all others are
  /// converted; kNoMemory if there is none for an element that is kept.
  Status unpack(std::uint64_t offset, const void* bytes, std::size_t size);

  /// Elements of which only a part has arrived.
  std::size_t parted() const { return parted_.size(); }

 private:
  struct Element {
    std::array<std::byte, kMaxBasicBytes> bytes;
    std::uint64_t arrived = 0;  // a bit for each byte
  };

  // By basic element.
  using Elements = std::unordered_map<std::uint64_t, Element>;

  Element& kept(std::uint64_t position);
  std::size_t keep(std::size_t byte, const std::byte* in, std::size_t size);
  void convert(const std::byte* in, std::uint64_t elements);

  std::shared_ptr<const ConversionPlan> plan_;
  std::uint64_t base_;
  std::uint64_t total_;
  TypedCursor cursor_;
  Status misfit_;  // the first of the fragment
  Elements parted_;
  Elements::node_type spare_;  // of the last that was completed, for the next
};

}  // namespace mad

#endif  // DATATYPE_PATH_CONVERT_UNPACKING_CONVERTER_H_
