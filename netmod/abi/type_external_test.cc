// Types as external32.  What each kind becomes there, and random types, are the converters' tests.
#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include "netmod/abi/mad.h"

namespace {

std::string error() { return mad_last_error(); }

struct Pair {
  long number;
  char letter;
};

// Not committed: packing does not need the compiled layout.
mad_type* pair() {
  mad_type *number = nullptr, *letter = nullptr, *fields = nullptr, *type = nullptr;
  EXPECT_EQ(mad_type_basic(MAD_BASIC_LONG, &number), MAD_SUCCESS);
  EXPECT_EQ(mad_type_basic(MAD_BASIC_CHAR, &letter), MAD_SUCCESS);
  const std::array<std::uint64_t, 2> lengths{1, 1};
  const std::array<std::int64_t, 2> places{offsetof(Pair, number), offsetof(Pair, letter)};
  const std::array<mad_type*, 2> types{number, letter};
  EXPECT_EQ(mad_type_struct(2, lengths.data(), places.data(), types.data(), &fields), MAD_SUCCESS);
  EXPECT_EQ(mad_type_resized(0, sizeof(Pair), fields, &type), MAD_SUCCESS);
  mad_type_release(number);
  mad_type_release(letter);
  mad_type_release(fields);
  return type;
}

TEST(TypeExternal, ElementsArePackedAndUnpacked) {
  mad_type* const type = pair();
  const std::array<Pair, 2> sent{{{-2, 'a'}, {3, 'b'}}};
  std::array<Pair, 2> received{};
  std::string packed(10, '-');
  std::uint64_t bytes = 0;
  ASSERT_EQ(mad_type_external_size(type, 2, &bytes), MAD_SUCCESS) << error();
  EXPECT_EQ(bytes, 10u);
  bytes = 0;
  ASSERT_EQ(mad_type_pack_external(sent.data(), 2, type, packed.data(), 10, &bytes), MAD_SUCCESS);
  EXPECT_EQ(bytes, 10u);
  EXPECT_EQ(packed, std::string("\xff\xff\xff\xfe"
                                "a\0\0\0\3b",
                                10));
  bytes = 0;
  ASSERT_EQ(mad_type_unpack_external(received.data(), 2, type, packed.data(), 10, &bytes),
            MAD_SUCCESS);
  EXPECT_EQ(bytes, 10u);
  EXPECT_EQ(received[0].number, -2);
  EXPECT_EQ(received[0].letter, 'a');
  EXPECT_EQ(received[1].number, 3);
  EXPECT_EQ(received[1].letter, 'b');
  mad_type_release(type);
}

TEST(TypeExternal, TooSmallABufferIsLeftAlone) {
  mad_type* const type = pair();
  std::array<Pair, 2> pairs{};
  std::string packed(9, '-');
  std::uint64_t bytes = 99;
  EXPECT_EQ(mad_type_pack_external(pairs.data(), 2, type, packed.data(), 9, &bytes),
            MAD_ERR_TRUNCATED);
  EXPECT_NE(error().find("10 bytes of external32, the buffer has 9"), std::string::npos) << error();
  EXPECT_EQ(packed, "---------");
  EXPECT_EQ(mad_type_unpack_external(pairs.data(), 2, type, packed.data(), 9, &bytes),
            MAD_ERR_TRUNCATED);
  EXPECT_EQ(pairs[0].number, 0);
  EXPECT_EQ(bytes, 99u);
  mad_type_release(type);
}

TEST(TypeExternal, WhatDoesNotFitIsZeroAndNamed) {
  mad_type* const type = pair();
  const std::array<Pair, 2> sent{{{1, 'a'}, {1L << 40, 'b'}}};
  std::string packed(10, '-');
  std::uint64_t bytes = 0;
  EXPECT_EQ(mad_type_pack_external(sent.data(), 2, type, packed.data(), 10, &bytes),
            MAD_ERR_CONVERSION);
  EXPECT_NE(error().find("basic element 2"), std::string::npos) << error();
  EXPECT_EQ(packed, std::string("\0\0\0\1a\0\0\0\0b", 10));
  mad_type_release(type);
}

TEST(TypeExternal, WrongArgumentsAreRefused) {
  mad_type* const type = pair();
  Pair data{};
  std::uint64_t bytes = 0;
  EXPECT_EQ(mad_type_external_size(nullptr, 1, &bytes), MAD_ERR_ARGUMENT);
  EXPECT_EQ(mad_type_external_size(type, 1, nullptr), MAD_ERR_ARGUMENT);
  EXPECT_EQ(mad_type_external_size(type, UINT64_MAX, &bytes), MAD_ERR_ARGUMENT);
  EXPECT_EQ(mad_type_pack_external(&data, 1, type, nullptr, 10, &bytes), MAD_ERR_ARGUMENT);
  EXPECT_EQ(mad_type_pack_external(nullptr, 0, type, nullptr, 0, &bytes), MAD_SUCCESS);
  EXPECT_EQ(bytes, 0u);
  mad_type_release(type);
}

TEST(TypeExternal, OfATypeOfAnotherProcessNothingIsKnown) {
  mad_type* const type = pair();
  mad_type* other = nullptr;
  std::vector<char> serial(1000);
  std::size_t size = 0;
  std::uint64_t bytes = 0;
  ASSERT_EQ(mad_type_commit(type), MAD_SUCCESS);
  ASSERT_EQ(mad_type_serialize(type, serial.data(), serial.size(), &size), MAD_SUCCESS);
  ASSERT_EQ(mad_type_deserialize(serial.data(), size, &other), MAD_SUCCESS);
  EXPECT_EQ(mad_type_external_size(other, 1, &bytes), MAD_ERR_ARGUMENT);
  EXPECT_NE(error().find("another process"), std::string::npos) << error();
  mad_type_release(other);
  mad_type_release(type);
}

TEST(TypeExternal, ThreadsMayAskFirst) {
  mad_type* const type = pair();
  std::vector<std::thread> threads;
  std::array<std::uint64_t, 4> sizes{}, hashes{};
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    threads.emplace_back([&, i] {
      std::uint64_t elements = 0;
      (void)mad_type_external_size(type, i, &sizes[i]);
      (void)mad_type_signature(type, 1, &hashes[i], &elements);
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    EXPECT_EQ(sizes[i], 5 * i);
    EXPECT_EQ(hashes[i], hashes[0]);
  }
  mad_type_release(type);
}

}  // namespace
