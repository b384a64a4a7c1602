// Matrices that arrive by columns, in pieces, against a loop over their elements.
#include "datatype_path/transfer/line_sink.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "datatype_path/transfer/receive_transfer.h"
#include "gtest/gtest.h"
#include "tests/support/random_type.h"
#include "tests/support/sample.h"

namespace mad {
namespace {

using test::RandomTypes;

/// A matrix of `rows` and `columns` elements, which lies by rows and travels by columns.
struct Matrix {
  std::uint64_t rows, columns, element;

  std::uint64_t bytes() const { return rows * columns * element; }
  BlockProgramPtr program() const {
    const auto pitch = static_cast<std::int64_t>(columns * element);
    const TypeDescPtr one = TypeDesc::bytes(element).value();
    const TypeDescPtr column = TypeDesc::vector(rows, 1, pitch, one).value();
    return BlockProgram::compile(
               *TypeDesc::resized(0, static_cast<std::int64_t>(element), column).value())
        .value();
  }
  std::vector<std::byte> placed(const std::vector<std::byte>& payload) const {
    std::vector<std::byte> memory(bytes());
    const std::byte* next = payload.data();
    for (std::uint64_t column = 0; column < columns; ++column) {
      for (std::uint64_t row = 0; row < rows; ++row, next += element) {
        std::copy(next, next + element, memory.data() + (row * columns + column) * element);
      }
    }
    return memory;
  }
};

std::size_t lines_of(const Matrix& matrix) {
  return LineSink::bytes_of_lines(*matrix.program(), matrix.columns);
}

TEST(LineSink, collects_whole_lines_where_pieces_do_not_hold_them) {
  constexpr std::size_t kMost = LineMemory::kBytes;
  EXPECT_EQ(lines_of({127, 64, 16}), 0u);            // four columns are less than half a piece
  EXPECT_EQ(lines_of({128, 64, 16}), kMost);         // or half of one
  EXPECT_EQ(lines_of({1000, 64, 16}), 4 * 64'000u);  // 64,000 bytes, as often as there is room
  EXPECT_EQ(lines_of({8192, 64, 16}), kMost);        // not a line, but two columns
  EXPECT_EQ(lines_of({8193, 64, 16}), 0u);           // one
  EXPECT_EQ(lines_of({512, 64, 64}), 0u);            // an element is a line
  const BlockProgramPtr by_count = Matrix{4096, 64, 8}.program();
  EXPECT_EQ(LineSink::bytes_of_lines(*by_count, 1), 0u);  // a column alone has its lines for itself
  EXPECT_EQ(LineSink::bytes_of_lines(*by_count, 2), kMost);
  EXPECT_EQ(LineSink::bytes_of_lines(*by_count, 3), 2 * 3 * 32'768u);
  const auto all_bytes_of = [](std::uint64_t size) {
    return LineSink::bytes_of_lines(*BlockProgram::compile(*TypeDesc::bytes(size).value()).value(),
                                    100'000);
  };
  EXPECT_EQ(all_bytes_of(8), 0u);
  EXPECT_EQ(all_bytes_of(0), 0u);
}

// Columns within an element, fewer than a line has room for.
TEST(LineSink, counts_the_columns_side_by_side) {
  const auto lines_of_nine = [](std::uint64_t rows) {
    const TypeDescPtr column = TypeDesc::vector(rows, 1, 4096, TypeDesc::bytes(4).value()).value();
    const TypeDescPtr side_by_side = TypeDesc::vector(9, 1, 4, column).value();
    const TypeDescPtr far = TypeDesc::resized(0, 1 << 24, side_by_side).value();
    return LineSink::bytes_of_lines(*BlockProgram::compile(*far).value(), 1000);
  };
  EXPECT_EQ(lines_of_nine(128), 0u);  // 4.5 KiB
  EXPECT_EQ(lines_of_nine(256), 28 * 9 * 1024u);
}

TEST(LineMemory, is_of_one_at_a_time) {
  LineMemory memory;
  std::byte* const bytes = memory.take();
  ASSERT_NE(bytes, nullptr);
  EXPECT_EQ(memory.take(), nullptr);
  memory.give_back();
  EXPECT_EQ(memory.take(), bytes);
}

TEST(LineSink, places_the_payload_however_it_comes) {
  RandomTypes random(test::seed_from_environment(77));
  LineMemory memory;
  for (int n = 0; n < 60; ++n) {
    const Matrix matrix{static_cast<std::uint64_t>(random.between(600, 3000)),
                        static_cast<std::uint64_t>(random.between(5, 40)), 16};
    const BlockProgramPtr program = matrix.program();
    const std::size_t window = lines_of(matrix);
    ASSERT_GT(window, 0u);
    std::vector<std::byte> payload(matrix.bytes()), placed(matrix.bytes());
    test::fill_randomly(payload, random);
    const std::size_t longest = n % 3 == 0 ? 16384 : n % 3 == 1 ? 1000 : 600'000;
    auto pieces = test::fragments(payload.size(), longest, random);
    if (random.between(0, 1) == 0) std::sort(pieces.begin(), pieces.end());
    LineSink sink(program, placed.data(), matrix.columns, window, memory.take(), &memory);
    for (const auto& [at, size] : pieces) sink.place(at, {payload.data() + at, size});
    sink.finish();
    ASSERT_EQ(placed, matrix.placed(payload)) << matrix.rows << " x " << matrix.columns;
  }
}

// Nothing is there before a window is full.
TEST(LineSink, waits_for_whole_lines) {
  const Matrix matrix{1024, 64, 16};
  const BlockProgramPtr program = matrix.program();
  const std::size_t window = lines_of(matrix);
  ASSERT_EQ(window, 256u * 1024);
  std::vector<std::byte> payload(matrix.bytes(), std::byte{1}), placed(matrix.bytes());
  LineMemory memory;
  LineSink sink(program, placed.data(), matrix.columns, window, memory.take(), &memory);
  sink.place(0, {payload.data(), window - 1});
  EXPECT_EQ(placed[0], std::byte{0});
  sink.place(window - 1, {payload.data(), 2});
  EXPECT_EQ(placed[0], std::byte{1});
  EXPECT_EQ(placed[16 * 16], std::byte{0});  // the first byte of the next window
  sink.finish();
  EXPECT_EQ(placed[16 * 16], std::byte{1});
}

TEST(LineSink, is_of_one_receive_at_a_time) {
  const Matrix matrix{1024, 64, 16};
  const BlockProgramPtr program = matrix.program();
  const Plan plan{Path::kPipeline, Plan::kNever, 0, ""};
  std::vector<std::byte> payload(matrix.bytes(), std::byte{1});
  std::vector<std::byte> first(matrix.bytes()), second(matrix.bytes());
  LineMemory memory;
  const auto start = [&](ReceiveTransfer& transfer, std::vector<std::byte>& to) {
    PayloadSink& sink =
        transfer.start_layout(program, to.data(), matrix.columns, payload.size(), plan, &memory);
    sink.place(0, {payload.data(), 16});
  };
  {
    ReceiveTransfer one, two;
    start(one, first);
    start(two, second);
    EXPECT_EQ(first[0], std::byte{0});  // waits
    EXPECT_EQ(second[0], std::byte{1});
    one.finish(16);
    EXPECT_EQ(first[0], std::byte{1});
  }
  EXPECT_NE(memory.take(), nullptr);
}

}  // namespace
}  // namespace mad
