#include "netmod/modex/text.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <string>
#include <vector>

namespace mad {
namespace {

std::vector<std::byte> counted(std::size_t size) {
  std::vector<std::byte> out;
  for (std::size_t i = 0; i < size; ++i) out.push_back(std::byte(i * 37 + 200));
  return out;
}

TEST(Text, GivesBackTheBytes) {
  for (std::size_t size = 0; size < 40; ++size) {
    const auto bytes = counted(size);
    const std::string text = to_text(bytes.data(), size);
    EXPECT_EQ(text.size(), text_length(size));
    EXPECT_EQ(from_text(text), bytes) << size;
  }
}

TEST(Text, HasOnlyCharactersThatLaunchersCarry) {
  const auto bytes = counted(256);
  const std::string text = to_text(bytes.data(), bytes.size());
  EXPECT_EQ(text.find_first_of(" =;\n\t,:/."), std::string::npos);
}

TEST(Text, RefusesWhatItNeverGives) {
  for (const char* const wrong : {"A", "AAA=", "A A", "AAAAA", "//", "A/", "AE"}) {
    EXPECT_FALSE(from_text(wrong)) << wrong;
  }
}

}  // namespace
}  // namespace mad
