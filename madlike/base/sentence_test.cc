// What is told with memory, and without.
#include "madlike/base/sentence.h"

#include <gtest/gtest.h>

#include <string>

namespace mad {
namespace {

TEST(Sentence, IsToldWithItsError) {
  const Status status = with_sentence(StatusCode::kProtocol, [] { return "it is wrong"; });
  EXPECT_EQ(status.code(), StatusCode::kProtocol);
  EXPECT_EQ(status.message(), "it is wrong");
}

TEST(Sentence, WithoutMemoryTheErrorIsToldAlone) {
  const Status status =
      with_sentence(StatusCode::kProtocol, []() -> std::string { throw std::bad_alloc(); });
  EXPECT_EQ(status.code(), StatusCode::kProtocol);
  EXPECT_EQ(status.message(), to_string(StatusCode::kProtocol));
}

}  // namespace
}  // namespace mad
