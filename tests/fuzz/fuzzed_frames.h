// FuzzedFrames: what a peer says that knows the wire protocol and lies now and then.
#ifndef TESTS_FUZZ_FUZZED_FRAMES_H_
#define TESTS_FUZZ_FUZZED_FRAMES_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "madlike/base/segment.h"
#include "madlike/driver/driver.h"
#include "madlike/message/wire.h"
#include "tests/fuzz/fuzzed_bytes.h"

namespace mad::test {

class FuzzedFrames {
 public:
  explicit FuzzedFrames(FuzzedBytes& choices) : choices_(choices) {}

  /// A packet that continues the conversation, or one that almost does.
  std::vector<std::byte> next();
  /// A packet of the other side's, of which `rest` bytes are not here.
  void hear(Segment packet, std::size_t rest);
  /// Memory that the other side lets us write; the last it told of.
  const ExposureToken& token() const { return window_.token; }

 private:
  Frame frame();
  std::size_t size();

  FuzzedBytes& choices_;
  bool greeted_ = false;
  Frame clear_;    // the last that was heard
  Frame message_;  // the last that was heard of which there is more than its head
  Window window_;
  std::uint64_t head_ = 0;     // bytes of message_ that came with it
  std::uint64_t offset_ = 0;   // of the next DATA for clear_
  std::uint32_t next_id_ = 1;  // of our next MESSAGE
};

}  // namespace mad::test

#endif  // TESTS_FUZZ_FUZZED_FRAMES_H_
