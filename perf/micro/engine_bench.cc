// This engine and hand-written loops on the same layouts, in turns.
//
//   engine_bench --benchmark_filter=^rows-8/ --benchmark_enable_random_interleaving=true
//
// `tools/mad bench engine` runs it beside two MPI libraries and joins their tables.
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "perf/micro/engine_cell.h"
#include "perf/micro/engine_type.h"
#include "perf/micro/harness.h"
#include "perf/micro/transpose_cell.h"

namespace micro {
namespace {

using State = benchmark::State;

// `given`: another loop than the layout's own.
void add_loop(Harness<EngineCell>& harness, const LayoutKind& kind, std::int64_t payload,
              const std::string& who, const Loop* given) {
  const auto loop_of = [given](const EngineCell& cell) {
    return given == nullptr ? cell.layout().loop : *given;
  };
  harness.add(kind, payload, who + "/pack", [loop_of](State& state, const EngineCell& cell) {
    time_work(state, cell.bytes(), [&cell, loop = loop_of(cell)] { cell.pack(loop); });
  });
  harness.add(kind, payload, who + "/unpack", [loop_of](State& state, const EngineCell& cell) {
    time_work(state, cell.bytes(), [&cell, loop = loop_of(cell)] { cell.unpack(loop); });
  });
}

void add_cell(Harness<EngineCell>& harness, const LayoutKind& kind, std::int64_t payload) {
  harness.add(kind, payload, "engine/pack", [](State& state, const EngineCell& cell) {
    time_work(state, cell.bytes(), [&cell] { cell.pack(); });
  });
  harness.add(kind, payload, "engine/unpack", [](State& state, const EngineCell& cell) {
    time_work(state, cell.bytes(), [&cell] { cell.unpack(); });
  });
  add_loop(harness, kind, payload, "loop", nullptr);
  if (kind.plain != nullptr) add_loop(harness, kind, payload, "plain", kind.plain);
  if (payload == EngineCell::kFragment) {
    harness.add(kind, payload, "engine/checked", [](State& state, const EngineCell& cell) {
      time_work(state, cell.bytes(), [&cell] { benchmark::DoNotOptimize(cell.pack_checked()); });
    });
  }
  if (payload > EngineCell::kFragment) {
    harness.add(kind, payload, "engine/fragments", [](State& state, const EngineCell& cell) {
      time_work(state, cell.bytes(), [&cell] { cell.pack_fragments(); });
    });
    harness.add(kind, payload, "engine/cached", [](State& state, const EngineCell& cell) {
      time_work(state, cell.bytes(), [&cell] { cell.pack_cached(); });
    });
  }
}

// copy() against the loops and against a buffer between; the columns out of a stream against loops.
void add_transpose(Harness<TransposeCell, TransposeKind>& harness, const TransposeKind& kind,
                   std::int64_t payload) {
  const auto add = [&](const std::string& operation, auto work) {
    harness.add(kind, payload, operation, [work](State& state, const TransposeCell& cell) {
      time_work(state, cell.bytes(), [&] { work(cell); });
    });
  };
  add("engine/copy", [](const TransposeCell& cell) { cell.copy(); });
  add("buffer/copy", [](const TransposeCell& cell) { cell.pack_and_unpack(); });
  add("engine/unpack", [](const TransposeCell& cell) { cell.unpack(); });
  add("engine/pieces", [](const TransposeCell& cell) { cell.unpack_fragments(); });
  for (const std::int64_t block : kBlocks) {
    for (const bool reads_rows : {false, true}) {
      const std::string how =
          "/" + std::to_string(block) + (reads_rows ? "-by-rows" : "-by-columns");
      add("loop/copy" + how, [=](const TransposeCell& cell) { cell.loop(block, reads_rows); });
      add("loop/unpack" + how,
          [=](const TransposeCell& cell) { cell.unpack_loop(block, reads_rows); });
    }
  }
}

// A structure of 4 fields, and 100,000 irregular blocks.
Layout four_fields() {
  for (const LayoutKind& kind : layout_kinds()) {
    if (kind.name == std::string("padded")) return kind.make(17);
  }
  return {};
}

Layout many_blocks() {
  constexpr int kBlocks = 100'000;
  constexpr unsigned kSeed = 306;
  std::mt19937 random(kSeed);
  std::vector<int> lengths;
  Places places;
  std::int64_t place = 0;
  for (int i = 0; i < kBlocks; ++i) {
    lengths.push_back(1 + static_cast<int>(random() % 8));
    places.push_back(place);
    place += 8 * (lengths.back() + 1 + static_cast<int>(random() % 8));
  }
  Layout layout;
  layout.build = [=](TypeBuilder& t) {
    return t.indexed(lengths, places, t.basic(Basic::kDouble));
  };
  return layout;
}

// `compile`: the program of a description that is there; `commit`: the description as well.
void add_compile(const std::string& name, const Layout& layout) {
  const auto compile_only = [layout](State& state) {
    const mad::TypeDescPtr type = describe(layout);
    for (auto _ : state) benchmark::DoNotOptimize(compile(*type));
  };
  const auto both = [layout](State& state) {
    for (auto _ : state) benchmark::DoNotOptimize(compile(*describe(layout)));
  };
  benchmark::RegisterBenchmark(("compile/" + name + "/engine/compile").c_str(), compile_only);
  benchmark::RegisterBenchmark(("compile/" + name + "/engine/commit").c_str(), both);
}

int run(int argc, char** argv) {
  if (!start(argc, argv)) return 2;
  Harness<EngineCell> harness;
  for (const LayoutKind& kind : layout_kinds()) {
    for (const std::int64_t payload : kPayloads) add_cell(harness, kind, payload);
  }
  Harness<TransposeCell, TransposeKind> transposes;
  for (const TransposeKind& kind : transpose_kinds()) {
    for (const std::int64_t payload : kTransposed) add_transpose(transposes, kind, payload);
  }
  add_compile("struct-4", four_fields());
  add_compile("indexed-100000", many_blocks());
  const int code = harness.run();
  return transposes.failed() ? 1 : code;
}

}  // namespace
}  // namespace micro

int main(int argc, char** argv) { return micro::run(argc, argv); }
