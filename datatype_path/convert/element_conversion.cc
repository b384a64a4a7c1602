#include "datatype_path/convert/element_conversion.h"

#include <algorithm>
#include <cstring>

namespace mad {
namespace {

bool is_real(BasicFamily family) {
  return family == BasicFamily::kReal || family == BasicFamily::kComplex;
}

RealLayout unit_layout(const Architecture& machine, BasicType type, std::uint8_t units) {
  const bool real = is_real(info(type).family);
  return {real ? machine.real_format(type) : RealFormat::kBinary32, machine.order(),
          static_cast<std::uint8_t>(machine.size_of(type) / units)};
}

struct Word16 {
  std::uint64_t low, high;
};
std::uint16_t swapped(std::uint16_t word) { return __builtin_bswap16(word); }
std::uint32_t swapped(std::uint32_t word) { return __builtin_bswap32(word); }
std::uint64_t swapped(std::uint64_t word) { return __builtin_bswap64(word); }
Word16 swapped(Word16 word) { return {swapped(word.high), swapped(word.low)}; }

template <typename Word>
void swap_word(const std::byte* in, std::byte* out) {
  Word word;
  std::memcpy(&word, in, sizeof(word));
  word = swapped(word);
  std::memcpy(out, &word, sizeof(word));
}

template <typename Word>
void swap_row(const ElementRow& from, const ElementRow& to, std::uint64_t count,
              std::uint64_t units) {
  const auto size = static_cast<std::int64_t>(units * sizeof(Word));
  if (from.stride == size && to.stride == size) {
    const std::byte* const in = from.at(0);
    std::byte* const out = to.at(0);
    for (std::uint64_t i = 0; i < count * units; ++i) {
      swap_word<Word>(in + i * sizeof(Word), out + i * sizeof(Word));
    }
    return;
  }
  for (std::uint64_t i = 0; i < count; ++i) {
    for (std::uint64_t unit = 0; unit < units; ++unit) {
      swap_word<Word>(from.at(i) + unit * sizeof(Word), to.at(i) + unit * sizeof(Word));
    }
  }
}

void copy_row(const ElementRow& from, const ElementRow& to, std::uint64_t count, std::size_t size) {
  const auto dense = static_cast<std::int64_t>(size);
  if (from.stride == dense && to.stride == dense) {
    std::memcpy(to.at(0), from.at(0), count * size);
    return;
  }
  for (std::uint64_t i = 0; i < count; ++i) std::memcpy(to.at(i), from.at(i), size);
}

// Integers of at most 8 bytes.
std::uint64_t load(const std::byte* in, const RealLayout& layout) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < layout.bytes; ++i) {
    const std::size_t at = layout.order == ByteOrder::kBig ? i : layout.bytes - 1 - i;
    value = value << 8 | std::to_integer<std::uint64_t>(in[at]);
  }
  return value;
}

void store(std::uint64_t value, std::byte* out, const RealLayout& layout) {
  for (std::size_t i = 0; i < layout.bytes; ++i) {
    const std::size_t at = layout.order == ByteOrder::kBig ? layout.bytes - 1 - i : i;
    out[at] = static_cast<std::byte>(value & 0xff);
    value >>= 8;
  }
}

// `value` cut to `bytes` and extended again, by its sign or by zeros.
std::uint64_t extended(std::uint64_t value, std::size_t bytes, bool by_sign) {
  if (bytes == 8) return value;
  const std::uint64_t sign = std::uint64_t{1} << (8 * bytes - 1);
  value &= 2 * sign - 1;
  return by_sign ? (value ^ sign) - sign : value;
}

}  // namespace

ElementConversion::ElementConversion(const Architecture& from, const Architecture& to,
                                     BasicType type)
    : units_(info(type).family == BasicFamily::kComplex ? 2 : 1),
      from_(unit_layout(from, type, units_)),
      to_(unit_layout(to, type, units_)) {
  const BasicFamily family = info(type).family;
  const bool same_order = from_.order == to_.order || from_.bytes == 1;
  const bool same = from_.bytes == to_.bytes && from_.format == to_.format;
  const auto is = [this](RealFormat format) {
    return from_.format == format || to_.format == format;
  };
  if (same && same_order) {
    kernel_ = Kernel::kCopy;
  } else if (is(RealFormat::kDoubleDouble)) {
    kernel_ = Kernel::kNone;
  } else if (same && !is(RealFormat::kX87)) {
    kernel_ = Kernel::kSwap;
  } else if (is_real(family)) {
    kernel_ = Kernel::kReal;
  } else if (family == BasicFamily::kLogical) {
    kernel_ = Kernel::kLogical;
  } else {
    kernel_ = family == BasicFamily::kSigned ? Kernel::kSigned : Kernel::kUnsigned;
  }
}

bool ElementConversion::convert_unit(const std::byte* in, std::byte* out) const {
  switch (kernel_) {
    case Kernel::kReal:
      convert_real(in, from_, out, to_);
      return true;
    case Kernel::kLogical:
      store(load(in, from_) != 0 ? 1 : 0, out, to_);
      return true;
    default: {
      const bool by_sign = kernel_ == Kernel::kSigned;
      const std::uint64_t value = extended(load(in, from_), from_.bytes, by_sign);
      const bool fits = extended(value, to_.bytes, by_sign) == value;
      store(fits ? value : 0, out, to_);
      return fits;
    }
  }
}

std::uint64_t ElementConversion::apply(const ElementRow& from, const ElementRow& to,
                                       std::uint64_t count) const {
  if (kernel_ == Kernel::kCopy) {
    copy_row(from, to, count, std::size_t{from_.bytes} * units_);
    return count;
  }
  if (kernel_ == Kernel::kSwap) {
    switch (from_.bytes) {
      case 2:
        swap_row<std::uint16_t>(from, to, count, units_);
        return count;
      case 4:
        swap_row<std::uint32_t>(from, to, count, units_);
        return count;
      case 8:
        swap_row<std::uint64_t>(from, to, count, units_);
        return count;
      default:
        swap_row<Word16>(from, to, count, units_);
        return count;
    }
  }
  std::uint64_t misfit = count;
  for (std::uint64_t i = 0; i < count; ++i) {
    for (std::uint64_t unit = 0; unit < units_; ++unit) {
      const bool fits = convert_unit(from.at(i) + unit * from_.bytes, to.at(i) + unit * to_.bytes);
      if (!fits) misfit = std::min(misfit, i);
    }
  }
  return misfit;
}

}  // namespace mad
