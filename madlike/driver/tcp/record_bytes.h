// Records as they travel, for tests of the tcp driver.
#ifndef MADLIKE_DRIVER_TCP_RECORD_BYTES_H_
#define MADLIKE_DRIVER_TCP_RECORD_BYTES_H_

#include <cstddef>

#include "gtest/gtest.h"
#include "madlike/driver/tcp/record.h"
#include "tests/support/bytes.h"

namespace mad {

inline Bytes packed_record(const TcpRecord& record, const Bytes& content) {
  Bytes bytes(record.header_bytes());
  encode_record(record, bytes.data());
  bytes.insert(bytes.end(), content.begin(), content.end());
  bytes.resize(bytes.size() + record.padding_bytes());
  return bytes;
}

/// `stream`, which must be whole records, but for its fillers.
inline Bytes without_fillers(const Bytes& stream) {
  Bytes records;
  std::size_t place = 0;
  while (place < stream.size()) {
    TcpRecord record;
    const bool whole = stream.size() - place >= TcpRecord::kFixedBytes &&
                       decode_record(&stream[place], &record) &&
                       record.all_bytes() <= stream.size() - place;
    EXPECT_TRUE(whole) << "at " << place << " of " << stream.size();
    if (!whole) break;
    const auto begin = stream.begin() + static_cast<std::ptrdiff_t>(place);
    place += record.all_bytes();
    if (record.kind == TcpRecord::Kind::kFiller) continue;
    records.insert(records.end(), begin, stream.begin() + static_cast<std::ptrdiff_t>(place));
  }
  return records;
}

}  // namespace mad

#endif  // MADLIKE_DRIVER_TCP_RECORD_BYTES_H_
