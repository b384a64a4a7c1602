// Types that travel as bytes.
#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

#include "netmod/abi/mad.h"

namespace {

std::string error() { return mad_last_error(); }

// "ab...c" with the extent 8.
mad_type* gapped() {
  mad_type *byte = nullptr, *list = nullptr, *type = nullptr;
  const std::array<std::uint64_t, 2> lengths{2, 1};
  const std::array<std::int64_t, 2> displacements{0, 5};
  EXPECT_EQ(mad_type_bytes(1, &byte), MAD_SUCCESS);
  EXPECT_EQ(mad_type_indexed(2, lengths.data(), displacements.data(), byte, &list), MAD_SUCCESS);
  EXPECT_EQ(mad_type_resized(0, 8, list, &type), MAD_SUCCESS);
  EXPECT_EQ(mad_type_commit(type), MAD_SUCCESS);
  mad_type_release(list);
  mad_type_release(byte);
  return type;
}

std::vector<char> bytes_of(const mad_type* type) {
  std::size_t size = 0;
  EXPECT_EQ(mad_type_serialize(type, nullptr, 0, &size), MAD_SUCCESS);
  std::vector<char> bytes(size);
  EXPECT_EQ(mad_type_serialize(type, bytes.data(), size, &size), MAD_SUCCESS);
  EXPECT_EQ(size, bytes.size());
  return bytes;
}

TEST(TypeBytes, TheOtherTypeMovesTheSameBytes) {
  mad_type* const type = gapped();
  const std::vector<char> bytes = bytes_of(type);
  mad_type* other = nullptr;
  ASSERT_EQ(mad_type_deserialize(bytes.data(), bytes.size(), &other), MAD_SUCCESS) << error();
  mad_type_release(type);

  mad_type_info info;
  ASSERT_EQ(mad_type_query(other, &info), MAD_SUCCESS);
  EXPECT_EQ(info.size, 3u);
  EXPECT_EQ(info.extent, 8);
  EXPECT_EQ(info.true_extent, 6);
  std::string place(16, '-');
  std::size_t moved = 0;
  ASSERT_EQ(mad_type_unpack(place.data(), 2, other, 0, "abcdef", 6, &moved), MAD_SUCCESS);
  EXPECT_EQ(place, "ab---c--de---f--");
  EXPECT_EQ(bytes_of(other), bytes) << "and may travel on";
  mad_type_release(other);
}

TEST(TypeBytes, NothingIsWrittenWhereThereIsTooLittleRoom) {
  mad_type* const type = gapped();
  std::vector<char> bytes(bytes_of(type).size() - 1, '-');
  const std::vector<char> untouched = bytes;
  std::size_t size = 0;
  ASSERT_EQ(mad_type_serialize(type, bytes.data(), bytes.size(), &size), MAD_SUCCESS);
  EXPECT_EQ(size, bytes.size() + 1);
  EXPECT_EQ(bytes, untouched);
  mad_type_release(type);
}

TEST(TypeBytes, NoTypeIsMadeOfOneThatCame) {
  mad_type* const type = gapped();
  const std::vector<char> bytes = bytes_of(type);
  mad_type *other = nullptr, *made = nullptr;
  ASSERT_EQ(mad_type_deserialize(bytes.data(), bytes.size(), &other), MAD_SUCCESS);
  EXPECT_EQ(mad_type_contiguous(2, other, &made), MAD_ERR_ARGUMENT);
  EXPECT_NE(error().find("mad_type_deserialize()"), std::string::npos) << error();
  const std::uint64_t one = 1;
  const std::int64_t here = 0;
  EXPECT_EQ(mad_type_struct(1, &one, &here, &other, &made), MAD_ERR_ARGUMENT);
  std::uint64_t hash = 0, elements = 0;
  EXPECT_EQ(mad_type_signature(other, 2, &hash, &elements), MAD_SUCCESS);
  EXPECT_EQ(elements, 6u) << "bytes";
  mad_type_release(other);
  mad_type_release(type);
}

TEST(TypeBytes, WhatIsNoTypeIsRefused) {
  mad_type* const type = gapped();
  std::vector<char> bytes = bytes_of(type);
  mad_type* other = nullptr;
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_LT(mad_type_deserialize(bytes.data(), size, &other), 0) << size;
  }
  bytes[0] = static_cast<char>(bytes[0] ^ 0x55);
  EXPECT_LT(mad_type_deserialize(bytes.data(), bytes.size(), &other), 0);
  EXPECT_EQ(mad_type_deserialize(nullptr, 8, &other), MAD_ERR_ARGUMENT);
  EXPECT_EQ(mad_type_deserialize(bytes.data(), bytes.size(), nullptr), MAD_ERR_ARGUMENT);
  std::size_t size = 0;
  EXPECT_EQ(mad_type_serialize(nullptr, nullptr, 0, &size), MAD_ERR_ARGUMENT);
  EXPECT_EQ(mad_type_serialize(type, nullptr, 8, &size), MAD_ERR_ARGUMENT);
  EXPECT_EQ(mad_type_serialize(type, nullptr, 0, nullptr), MAD_ERR_ARGUMENT);
  EXPECT_EQ(other, nullptr);
  mad_type_release(type);
}

// What the parts of `count` elements write, one after the other, each into its place from a stream
// of letters; and how many they were.
std::string by_parts(const mad_type* type, std::uint64_t count, std::size_t bytes, std::size_t unit,
                     std::size_t capacity, int* parts) {
  std::string place(32, '-');
  const std::string stream = "abcdefghijklmnopqrstuvwxyz";
  mad_type_info info;
  EXPECT_EQ(mad_type_query(type, &info), MAD_SUCCESS);
  *parts = 0;
  for (std::uint64_t at = 0; at < info.size * count; ++*parts) {
    std::vector<char> description(capacity);
    std::size_t size = 0, covered = 0, moved = 0;
    mad_type* part = nullptr;
    EXPECT_EQ(mad_type_serialize_part(type, count, at, bytes, unit, description.data(), capacity,
                                      &size, &covered),
              MAD_SUCCESS)
        << error();
    EXPECT_EQ(mad_type_deserialize(description.data(), size, &part), MAD_SUCCESS) << error();
    if (part == nullptr || covered == 0) break;
    EXPECT_EQ(covered % unit, 0u);
    EXPECT_EQ(mad_type_unpack(place.data(), 1, part, 0, stream.data() + at, covered, &moved),
              MAD_SUCCESS);
    EXPECT_EQ(moved, covered);
    mad_type_release(part);
    at += covered;
  }
  return place;
}

TEST(TypeBytes, PartsAreTheWhole) {
  mad_type* const type = gapped();
  const std::string whole = "ab---c--de---f--gh---i----------";
  int parts = 0;
  EXPECT_EQ(by_parts(type, 3, 100, 1, 4096, &parts), whole);
  EXPECT_EQ(parts, 1);
  EXPECT_EQ(by_parts(type, 3, 4, 1, 4096, &parts), whole) << "at most 4 bytes each";
  EXPECT_EQ(parts, 3);
  EXPECT_EQ(by_parts(type, 3, 8, 3, 4096, &parts), whole) << "of whole elements";
  EXPECT_EQ(parts, 2);
  mad_type_release(type);
}

TEST(TypeBytes, APartHasWhatThereIsRoomFor) {
  mad_type* const type = gapped();
  std::size_t size = 0, covered = 0;
  std::vector<char> out(4096);
  ASSERT_EQ(mad_type_serialize_part(type, 100, 0, 300, 3, out.data(), 4096, &size, &covered),
            MAD_SUCCESS);
  const std::size_t room = size - 1, all = covered;
  ASSERT_EQ(mad_type_serialize_part(type, 100, 0, 300, 3, out.data(), room, &size, &covered),
            MAD_SUCCESS)
      << error();
  EXPECT_LE(size, room);
  EXPECT_LT(covered, all);
  EXPECT_EQ(covered % 3, 0u);
  EXPECT_EQ(mad_type_serialize_part(type, 100, 0, 300, 3, out.data(), 8, &size, &covered),
            MAD_ERR_ARGUMENT);
  EXPECT_NE(error().find("no room"), std::string::npos) << error();
  mad_type_release(type);
}

TEST(TypeBytes, APartThatThereIsNot) {
  mad_type* const type = gapped();
  std::size_t size = 0, covered = 0;
  std::vector<char> out(4096);
  const auto part = [&](std::uint64_t offset, std::size_t bytes, std::size_t unit) {
    return mad_type_serialize_part(type, 2, offset, bytes, unit, out.data(), out.size(), &size,
                                   &covered);
  };
  EXPECT_EQ(part(6, 1, 1), MAD_ERR_ARGUMENT) << "after the end";
  EXPECT_EQ(part(7, 1, 1), MAD_ERR_ARGUMENT);
  EXPECT_EQ(part(0, 2, 3), MAD_ERR_ARGUMENT) << "less than a unit";
  EXPECT_EQ(part(0, 2, 0), MAD_ERR_ARGUMENT);
  EXPECT_EQ(mad_type_serialize_part(nullptr, 2, 0, 1, 1, out.data(), 1, &size, &covered),
            MAD_ERR_ARGUMENT);
  mad_type_release(type);
}

}  // namespace
