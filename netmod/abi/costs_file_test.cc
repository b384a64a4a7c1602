#include "netmod/abi/costs_file.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "gtest/gtest.h"

namespace mad {
namespace {

std::string file_of(const std::string& numbers, const std::string& copies) {
  return R"({"version": 1, "fabrics": {"tcp": {)" + numbers + R"(, "copy_ns": [)" + copies + "]}}}";
}

constexpr const char* kNumbers =
    R"("message_ns": 1, "byte_ns": 2.5, "packet_ns": 3, "segment_ns": 4, "place_ns": 5, "page_ns": 6)";
constexpr const char* kCopies = "1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17";

std::string error_of(const std::string& text) {
  const auto costs = parse_costs(text, "tcp");
  EXPECT_FALSE(costs.ok());
  return costs.ok() ? "" : std::string(costs.status().message());
}

TEST(CostsFile, has_all_numbers_of_a_fabric) {
  const auto costs = parse_costs(file_of(kNumbers, kCopies), "tcp");
  ASSERT_TRUE(costs.ok()) << costs.status().message();
  EXPECT_EQ(costs.value().message_ns, 1);
  EXPECT_EQ(costs.value().byte_ns, 2.5);
  EXPECT_EQ(costs.value().packet_ns, 3);
  EXPECT_EQ(costs.value().segment_ns, 4);
  EXPECT_EQ(costs.value().place_ns, 5);
  EXPECT_EQ(costs.value().page_ns, 6);
  EXPECT_EQ(costs.value().copy_ns[0], 1);
  EXPECT_EQ(costs.value().copy_ns[16], 17);
}

TEST(CostsFile, other_fabrics_have_the_default) {
  const auto costs = parse_costs(file_of(kNumbers, kCopies), "ofi:tcp");
  ASSERT_TRUE(costs.ok());
  EXPECT_EQ(costs.value().packet_ns, default_costs("ofi:tcp").packet_ns);
}

TEST(CostsFile, the_price_of_registering_may_be_missing) {
  const auto with = parse_costs(
      file_of(std::string(kNumbers) + R"(, "register_ns": 7, "register_byte_ns": 0.5)", kCopies),
      "tcp");
  ASSERT_TRUE(with.ok()) << with.status().message();
  EXPECT_EQ(with.value().register_ns, 7);
  EXPECT_EQ(with.value().register_byte_ns, 0.5);
  const auto without = parse_costs(file_of(kNumbers, kCopies), "tcp");
  ASSERT_TRUE(without.ok());
  EXPECT_EQ(without.value().register_ns, default_costs("tcp").register_ns);
  EXPECT_NE(error_of(file_of(std::string(kNumbers) + R"(, "register_ns": -1)", kCopies))
                .find("'register_ns' is -1"),
            std::string::npos);
}

TEST(CostsFile, says_what_is_wrong) {
  EXPECT_NE(error_of("").find("not JSON"), std::string::npos);
  EXPECT_NE(error_of("{").find("not JSON"), std::string::npos);
  EXPECT_NE(error_of("[1]").find("not JSON"), std::string::npos);
  EXPECT_NE(error_of("{}").find("version"), std::string::npos);
  EXPECT_NE(error_of(R"({"version": 2})").find("version"), std::string::npos);
  EXPECT_NE(error_of(R"({"version": 1})").find("'fabrics'"), std::string::npos);
  EXPECT_NE(error_of(R"({"version": 1, "fabrics": {"tcp": 3}})").find("'tcp'"), std::string::npos);
  EXPECT_NE(error_of(file_of(R"("message_ns": 1)", kCopies)).find("'byte_ns' is null"),
            std::string::npos);
  EXPECT_NE(error_of(file_of(kNumbers, "1,2")).find("list of 17"), std::string::npos);
  EXPECT_NE(error_of(file_of(kNumbers, "0,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17")).find("is 0,"),
            std::string::npos);
  EXPECT_NE(error_of(file_of(R"("message_ns": "fast")", kCopies)).find(R"("fast")"),
            std::string::npos);
}

class CostsOfAUser : public ::testing::Test {
 protected:
  void SetUp() override {
    home_ = std::filesystem::path(::testing::TempDir()) / "costs_of_a_user";
    std::filesystem::remove_all(home_);
    std::filesystem::create_directories(home_ / "mad");
    ::setenv("XDG_CONFIG_HOME", home_.c_str(), 1);
  }
  void write(const std::string& text) const { std::ofstream(default_costs_file()) << text; }

  std::filesystem::path home_;
};

TEST_F(CostsOfAUser, are_read_where_there_are_any) {
  EXPECT_EQ(read_costs("", "tcp").value().packet_ns, default_costs("tcp").packet_ns);
  write(file_of(kNumbers, kCopies));
  EXPECT_EQ(read_costs("", "tcp").value().packet_ns, 3);
}

TEST_F(CostsOfAUser, errors_name_the_file_and_what_to_do) {
  write("no");
  const auto broken = read_costs("", "tcp");
  ASSERT_FALSE(broken.ok());
  EXPECT_EQ(broken.status().code(), StatusCode::kInvalidArgument);
  EXPECT_NE(broken.status().message().find(default_costs_file()), std::string::npos);
  EXPECT_NE(broken.status().message().find("calibrate"), std::string::npos);
  const auto missing = read_costs((home_ / "none.json").string(), "tcp");
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.status().code(), StatusCode::kNotFound);
  const auto directory = read_costs(home_.string(), "tcp");
  ASSERT_FALSE(directory.ok());
  EXPECT_NE(directory.status().message().find(home_.string()), std::string::npos);
}

}  // namespace
}  // namespace mad
