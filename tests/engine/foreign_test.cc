// Messages from machines that represent data otherwise: an engine says that it is another machine
// and sends what the oracle says that machine would, its peer receives into described types.
#include <gtest/gtest.h>

#include <cstring>
#include <deque>
#include <memory>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "netmod/abi/engine.h"
#include "netmod/abi/errors.h"
#include "netmod/abi/types.h"
#include "tests/engine/node.h"
#include "tests/support/foreign_data.h"
#include "tests/support/foreign_sample.h"

namespace mad::test {
namespace {

using B = BasicType;

TypeHandle handle_of(const TypeDescPtr& description) {
  TypeHandle type(new mad_type(description));
  EXPECT_EQ(mad_type_commit(type.get()), MAD_SUCCESS) << mad_last_error();
  return type;
}
TypeHandle handle_of(B kind) { return handle_of(TypeDesc::basic(kind).value()); }

/// Opens an engine that says that it is on `machine`.
auto on(const Architecture& machine) {
  return [machine](const mad_config* config, mad_engine** out) -> int {
    auto engine = mad_engine::open(*config, machine);
    if (!engine.ok()) return to_abi(engine.status());
    *out = engine->release();
    return MAD_SUCCESS;
  };
}

/// The fabric, and whether payload has a checksum.
using Link = std::tuple<const char*, bool>;

std::string link_name(const ::testing::TestParamInfo<Link>& info) {
  return test_name(std::get<0>(info.param)) + (std::get<1>(info.param) ? "_checked" : "");
}

struct Two {
  Two(const Link& link, const Architecture& machine, std::uint64_t eager = 0,
      std::uint64_t flush = 0)
      : tune([=](mad_config& config) {
          config.checksum = std::get<1>(link) ? 1 : 0;
          config.eager_limit = eager;
          config.flush_threshold = flush;
        }),
        other(std::get<0>(link), tune, on(machine)),
        here(std::get<0>(link), tune) {}
  ~Two() { close_together({&other, &here}); }

  /// Sends it as bytes; receives `count` of `type` into `base`, before or after it came.
  void exchange(const Digits& stream, void* base, std::uint64_t count, const mad_type* type,
                Operation* received, bool receive_first) {
    const mad_envelope envelope{0, ++tag, 1};
    Operation sent;
    if (receive_first) here.receive_tagged(envelope, base, count, type, MAD_PATH_AUTO, received);
    // Without bytes there may be no place either.
    other.send_tagged(to_here, envelope, stream.empty() ? &tag : (const void*)stream.data(),
                      stream.size(), nullptr, MAD_PATH_AUTO, &sent);
    if (!receive_first) {
      mad_arrival arrival;
      ASSERT_TRUE(progress_until({&other, &here}, [&] {
        return mad_tagged_probe(here.engine(), &envelope, &arrival) == MAD_SUCCESS;
      }));
      EXPECT_EQ(arrival.sent, stream.size());
      here.receive_tagged(envelope, base, count, type, MAD_PATH_AUTO, received);
    }
    ASSERT_TRUE(progress_until({&other, &here}, [&] { return received->done && sent.done; }));
    EXPECT_EQ(sent.status, MAD_SUCCESS);
  }

  std::function<void(mad_config&)> tune;
  Node other, here;
  mad_peer* to_here = other.peer(here);
  std::int32_t tag = 0;
};

class Foreign : public ::testing::TestWithParam<Link> {};

TEST_P(Foreign, EveryKindOfEveryMachine) {
  RandomTypes random(seed_from_environment(492));
  for (const Machine& machine : machines()) {
    Two two(GetParam(), machine.architecture);
    for (std::size_t k = 0; k < kBasicTypes; ++k) {
      const auto kind = static_cast<B>(k);
      SCOPED_TRACE(machine.name + ", " + std::string(info(kind).name));
      const std::size_t size = size_of(kind);
      const Architecture& from = machine.architecture;
      Digits stream, expected;
      for (int i = 0; i < 11; ++i) {
        bool fits = true;
        const Value sent =
            random_value(kind, from, std::min(size, std::size_t{from.size_of(kind)}), random);
        const Digits there = bytes_of(sent, kind, from);
        const Digits here = bytes_of(converted(sent, kind, from, Architecture::local(), &fits),
                                     kind, Architecture::local());
        stream.insert(stream.end(), there.begin(), there.end());
        expected.insert(expected.end(), here.begin(), here.end());
      }
      const TypeHandle type = handle_of(kind);
      Digits memory(expected.size());
      Operation received;
      two.exchange(stream, memory.data(), 11, type.get(), &received, k % 2 == 0);
      ASSERT_EQ(received.status, MAD_SUCCESS) << mad_last_error();
      EXPECT_EQ(memory, expected);
      EXPECT_EQ(received.arrival.sent, expected.size());
      EXPECT_EQ(received.arrival.received, expected.size());
    }
  }
}

TEST_P(Foreign, RandomTypesInFragmentsOfEverySize) {
  RandomTypes random(seed_from_environment(493));
  struct Cuts {
    std::uint64_t eager, flush;
  };
  for (const Cuts cuts : {Cuts{1, 17}, Cuts{100, 64}, Cuts{0, 0}}) {
    for (const Machine& machine : {machines()[2], machines()[4], machines()[6]}) {
      Two two(GetParam(), machine.architecture, cuts.eager, cuts.flush);
      for (int n = 0; n < 12; ++n) {
        const bool misfits = n % 4 == 3;
        ForeignSample sample(ForeignSample::Direction::kUnpack, machine, misfits, random);
        SCOPED_TRACE(sample.text());
        Arena memory(expand(*sample.made.type, sample.count), std::byte{0xa5});
        const TypeHandle type = handle_of(sample.made.type);
        Operation received;
        two.exchange(sample.stream, memory.base(), sample.count, type.get(), &received, n % 2 == 0);
        ASSERT_EQ(received.status,
                  sample.unfit.empty() ? (int)MAD_SUCCESS : (int)MAD_ERR_CONVERSION);
        ASSERT_EQ(memory.bytes(), sample.memory.bytes());
        if (sample.unfit.empty()) {
          EXPECT_EQ(received.arrival.received, sample.made.type->size() * sample.count);
        }
      }
    }
  }
}

Digits longs_of_4_bytes(std::size_t count) {
  Digits stream;
  for (std::size_t i = 0; i < count; ++i) {
    const Digits each = integer_bytes(-Integer(i) * 1000, 4, ByteOrder::kBig);
    stream.insert(stream.end(), each.begin(), each.end());
  }
  return stream;
}

TEST_P(Foreign, TruncationIsOfTheReceiversElements) {
  Two two(GetParam(), Architecture::external32());
  const TypeHandle type = handle_of(B::kLong);
  for (const std::size_t room :
       {std::size_t{0}, std::size_t{4}, std::size_t{10}, std::size_t{20}}) {
    std::vector<long> memory(room + 1, 77);
    Operation received;
    two.exchange(longs_of_4_bytes(10), memory.data(), room, type.get(), &received, room == 4);
    const std::size_t fit = std::min<std::size_t>(room, 10);
    ASSERT_EQ(received.status, MAD_SUCCESS) << mad_last_error();
    EXPECT_EQ(received.arrival.sent, 10 * sizeof(long));
    EXPECT_EQ(received.arrival.received, fit * sizeof(long));
    for (std::size_t i = 0; i <= room; ++i) {
      EXPECT_EQ(memory[i], i < fit ? -static_cast<long>(i) * 1000 : 77);
    }
  }
}

// It says where its bytes lie, and nothing of what they are.
TEST_P(Foreign, LayoutsThatCameAsBytesAreNotConverted) {
  Two two(GetParam(), Architecture::external32());
  const TypeHandle whole = handle_of(
      TypeDesc::vector(3, 1, 2 * sizeof(long), TypeDesc::basic(B::kLong).value()).value());
  char bytes[256];
  std::size_t size = 0;
  ASSERT_EQ(mad_type_serialize(whole.get(), bytes, sizeof(bytes), &size), MAD_SUCCESS);
  mad_type* made = nullptr;
  ASSERT_EQ(mad_type_deserialize(bytes, size, &made), MAD_SUCCESS) << mad_last_error();
  const TypeHandle type(made);
  for (const bool receive_first : {false, true}) {
    std::vector<long> memory(6, 77);
    Digits stream(3 * sizeof(long));
    std::memset(stream.data(), 5, stream.size());
    Operation received;
    two.exchange(stream, memory.data(), 1, type.get(), &received, receive_first);
    ASSERT_EQ(received.status, MAD_SUCCESS) << mad_last_error();
    const long fives = 0x0505050505050505;
    EXPECT_EQ(memory, (std::vector<long>{fives, 77, fives, 77, fives, 77}));
  }
}

TEST_P(Foreign, WhatDoesNotFitIsAnErrorAndTheNextIsNot) {
  const Architecture wide = Architecture::local().with_size(B::kInt, 8).with(ByteOrder::kBig);
  Two two(GetParam(), wide);
  const TypeHandle type = handle_of(B::kInt);
  for (const bool first : {true, false}) {
    Digits stream = integer_bytes(Integer(1) << 40, 8, ByteOrder::kBig);
    const Digits more = integer_bytes(-5, 8, ByteOrder::kBig);
    stream.insert(stream.end(), more.begin(), more.end());
    std::vector<int> memory(2, 1);
    Operation bad, good;
    two.exchange(stream, memory.data(), 2, type.get(), &bad, first);
    EXPECT_EQ(bad.status, MAD_ERR_CONVERSION);
    EXPECT_EQ(memory, (std::vector<int>{0, -5}));
    two.exchange(more, memory.data(), 2, type.get(), &good, first);
    EXPECT_EQ(good.status, MAD_SUCCESS);
    EXPECT_EQ(memory, (std::vector<int>{-5, -5}));
  }
  EXPECT_TRUE(two.here.departures.empty());
}

TEST_P(Foreign, LongMessagesIntoManyRuns) {
  Two two(GetParam(), machines()[2].architecture);
  constexpr std::uint64_t kCount = 60000;
  const TypeHandle type =
      handle_of(TypeDesc::resized(0, 16, TypeDesc::basic(B::kDouble).value()).value());
  Digits stream;
  for (std::uint64_t i = 0; i < kCount; ++i) {
    const Digits each =
        real_bytes(static_cast<double>(i) / 8, RealFormat::kBinary64, 8, ByteOrder::kBig);
    stream.insert(stream.end(), each.begin(), each.end());
  }
  for (const bool first : {true, false}) {
    std::vector<double> memory(2 * kCount, 0.5);
    Operation received;
    two.exchange(stream, memory.data(), kCount, type.get(), &received, first);
    ASSERT_EQ(received.status, MAD_SUCCESS);
    for (std::uint64_t i = 0; i < kCount; ++i) {
      ASSERT_EQ(memory[2 * i], static_cast<double>(i) / 8);
      ASSERT_EQ(memory[2 * i + 1], 0.5);
    }
  }
}

TEST_P(Foreign, BytesAreTheCallers) {
  Two two(GetParam(), Architecture::external32());
  const Digits stream = longs_of_4_bytes(3);
  Digits memory(12);
  Operation received;
  two.exchange(stream, memory.data(), 12, nullptr, &received, true);
  EXPECT_EQ(memory, stream);
  EXPECT_EQ(received.arrival.received, 12u);
}

TEST_P(Foreign, MessagesWithAHandlerAreConvertedToo) {
  Two two(GetParam(), Architecture::external32());
  const TypeHandle type = handle_of(B::kLong);
  const Digits stream = longs_of_4_bytes(5);
  Operation sent, received;
  two.other.send(two.to_here, "header", stream.data(), stream.size(), nullptr, MAD_PATH_AUTO,
                 &sent);
  ASSERT_TRUE(progress_until({&two.other, &two.here}, [&] { return !two.here.arrivals.empty(); }));
  std::vector<long> memory(5);
  two.here.receive(two.here.take().incoming, memory.data(), 5, type.get(), MAD_PATH_AUTO,
                   &received);
  ASSERT_TRUE(progress_until({&two.other, &two.here}, [&] { return received.done && sent.done; }));
  EXPECT_EQ(received.bytes, 5 * sizeof(long));
  EXPECT_EQ(memory, (std::vector<long>{0, -1000, -2000, -3000, -4000}));
}

/// Each engine in a thread of its own, which engines of one loopback network cannot have.
class ForeignMadeleine : public ::testing::TestWithParam<Link> {};

TEST_P(ForeignMadeleine, PiecesShortAndLong) {
  RandomTypes random(seed_from_environment(494));
  const Machine machine = machines()[4];
  Two two(GetParam(), machine.architecture);
  std::deque<ForeignSample> samples;
  for (int i = 0; i < 12; ++i) {
    samples.emplace_back(ForeignSample::Direction::kUnpack, machine, false, random);
  }
  const Digits many = longs_of_4_bytes(100000);  // a chunk of its own
  std::thread sender([&] {
    mad_packing* message = nullptr;
    EXPECT_EQ(mad_begin_packing(two.other.engine(), two.to_here, &message), MAD_SUCCESS);
    for (const ForeignSample& sample : samples) {
      EXPECT_EQ(mad_pack(message, sample.stream.data(), sample.stream.size(), MAD_SEND_CHEAPER,
                         MAD_RECV_CHEAPER),
                MAD_SUCCESS);
    }
    EXPECT_EQ(mad_pack(message, many.data(), many.size(), MAD_SEND_CHEAPER, MAD_RECV_EXPRESS),
              MAD_SUCCESS);
    EXPECT_EQ(mad_end_packing(message), MAD_SUCCESS);
  });
  mad_unpacking* message = nullptr;
  ASSERT_EQ(mad_begin_unpacking(two.here.engine(), -1, nullptr, &message), MAD_SUCCESS);
  std::deque<Arena> memories;
  std::deque<TypeHandle> types;
  for (const ForeignSample& sample : samples) {
    memories.emplace_back(expand(*sample.made.type, sample.count), std::byte{0xa5});
    types.push_back(handle_of(sample.made.type));
    EXPECT_EQ(mad_unpack_layout(message, memories.back().base(), sample.count, types.back().get(),
                                MAD_SEND_CHEAPER, MAD_RECV_CHEAPER),
              MAD_SUCCESS)
        << mad_last_error();
  }
  const TypeHandle type = handle_of(B::kLong);
  std::vector<long> longs(100000);
  EXPECT_EQ(mad_unpack_layout(message, longs.data(), longs.size(), type.get(), MAD_SEND_CHEAPER,
                              MAD_RECV_EXPRESS),
            MAD_SUCCESS);
  EXPECT_EQ(longs[99999], -99999000);
  EXPECT_EQ(mad_end_unpacking(message), MAD_SUCCESS) << mad_last_error();
  sender.join();
  for (std::size_t i = 0; i < samples.size(); ++i) {
    EXPECT_EQ(memories[i].bytes(), samples[i].memory.bytes()) << samples[i].text();
  }
}

TEST_P(ForeignMadeleine, APieceThatDoesNotFitEndsItsMessage) {
  Two two(GetParam(), Architecture::local().with_size(B::kInt, 8));
  const std::int64_t sent = std::int64_t{1} << 40;
  std::thread sender([&] {
    mad_packing* message = nullptr;
    EXPECT_EQ(mad_begin_packing(two.other.engine(), two.to_here, &message), MAD_SUCCESS);
    EXPECT_EQ(mad_pack(message, &sent, 8, MAD_SEND_CHEAPER, MAD_RECV_EXPRESS), MAD_SUCCESS);
    EXPECT_EQ(mad_end_packing(message), MAD_SUCCESS);
  });
  mad_unpacking* message = nullptr;
  ASSERT_EQ(mad_begin_unpacking(two.here.engine(), -1, nullptr, &message), MAD_SUCCESS);
  const TypeHandle type = handle_of(B::kInt);
  int memory = 1;
  EXPECT_EQ(mad_unpack_layout(message, &memory, 1, type.get(), MAD_SEND_CHEAPER, MAD_RECV_EXPRESS),
            MAD_ERR_CONVERSION);
  EXPECT_EQ(mad_end_unpacking(message), MAD_ERR_CONVERSION);
  sender.join();
}

TEST_P(Foreign, AMachineThatThereCannotBeIsNotSpokenTo) {
  Two two(GetParam(), Architecture::local().with_size(B::kInt, 3));
  ASSERT_EQ(mad_peer_touch(two.other.engine(), two.to_here), MAD_SUCCESS);
  ASSERT_TRUE(
      progress_until({&two.other, &two.here}, [&] { return !two.other.departures.empty(); }));
}

INSTANTIATE_TEST_SUITE_P(Links, Foreign,
                         ::testing::Combine(::testing::Values("loopback", "tcp"),
                                            ::testing::Bool()),
                         link_name);

INSTANTIATE_TEST_SUITE_P(Links, ForeignMadeleine,
                         ::testing::Combine(::testing::Values("tcp"), ::testing::Bool()),
                         link_name);

}  // namespace
}  // namespace mad::test
