#include "datatype_path/transfer/converting_sink.h"

#include <algorithm>

namespace mad {

void ConvertingSink::place(std::uint64_t offset, Segment bytes) {
  if (offset >= total()) return;
  const std::uint64_t size = std::min<std::uint64_t>(bytes.size, total() - offset);
  Status converted = converter_.unpack(offset, bytes.data, static_cast<std::size_t>(size));
  if (converted.error() && !failure_.error()) failure_ = std::move(converted);
}

}  // namespace mad
