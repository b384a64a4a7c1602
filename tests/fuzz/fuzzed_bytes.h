// A fuzzer's bytes as numbers, and how a fuzzer says that something is wrong.
#ifndef TESTS_FUZZ_FUZZED_BYTES_H_
#define TESTS_FUZZ_FUZZED_BYTES_H_

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

namespace mad::test {

class FuzzedBytes {
 public:
  FuzzedBytes(const std::uint8_t* bytes, std::size_t size) : at_(bytes), end_(bytes + size) {}

  bool empty() const { return at_ == end_; }
  /// 0 when there are no more.
  std::uint8_t next() { return empty() ? 0 : *at_++; }
  /// In [0, below): from one byte, where `below` is small, from two or eight otherwise.
  std::uint64_t below(std::uint64_t below) {
    std::uint64_t value = next();
    if (below > 256) value = value << 8 | next();
    if (below > 65536) {
      for (int i = 0; i < 6; ++i) value = value << 8 | next();
    }
    return value % below;
  }

 private:
  const std::uint8_t* at_;
  const std::uint8_t* end_;
};

/// Ends the process, as fuzzers want it, if there is something wrong.
inline void expect_nothing_wrong(const std::string& wrong, const std::string& where) {
  if (wrong.empty()) return;
  std::fprintf(stderr, "%s\n%s\n", wrong.c_str(), where.c_str());
  std::abort();
}

}  // namespace mad::test

/// What libFuzzer calls with each input; corpus_main.cc with each file of a corpus.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size);

#endif  // TESTS_FUZZ_FUZZED_BYTES_H_
