#include "netmod/modex/node_data.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <vector>

namespace mad {
namespace {

constexpr std::uint32_t kOne = 0x11223344;
constexpr std::uint32_t kOther = 0xfedcba98;

ModexBytes bytes(const std::string& text) {
  const auto* const begin = reinterpret_cast<const std::byte*>(text.data());
  return {begin, begin + text.size()};
}

NodeData packed(const std::vector<ModexRecord>& records) {
  auto data = NodeData::parse(NodeData::pack(records));
  EXPECT_TRUE(data.ok()) << data.status().message();
  return std::move(*data);
}

ModexRecord process(const std::string& data) {
  ModexRecord record;
  record.process[kOne] = bytes(data);
  return record;
}

TEST(NodeData, HasWhatEachProcessSent) {
  const NodeData data = packed({process("port 17"), process("port 42"), process("port 99")});
  EXPECT_EQ(data.processes(), 3U);
  EXPECT_EQ(data.of_process(0, kOne), bytes("port 17"));
  EXPECT_EQ(data.of_process(1, kOne), bytes("port 42"));
  EXPECT_EQ(data.of_process(2, kOne), bytes("port 99"));
  EXPECT_EQ(data.of_process(3, kOne), std::nullopt);
  EXPECT_EQ(data.of_process(0, kOther), std::nullopt);
  EXPECT_EQ(data.of_node(kOne), std::nullopt);
}

TEST(NodeData, AProcessCostsOnlyWhereItDiffers) {
  std::vector<ModexRecord> records = {process("port 17, the same host")};
  const std::size_t alone = packed(records).bytes();
  EXPECT_EQ(packed(records).process_bytes(), 0U);
  for (int i = 18; i < 58; ++i) {
    records.push_back(process("port " + std::to_string(i) + ", the same host"));
  }
  EXPECT_EQ(packed(records).process_bytes(), 2 * records.size());
  EXPECT_EQ(packed(records).bytes(), alone - 2 + 2 * records.size());
}

TEST(NodeData, TheLastProcessWinsTheNode) {
  std::vector<ModexRecord> records(3);
  records[0].node[kOne] = bytes("first");
  records[2].node[kOne] = bytes("last");
  records[1].node[kOther] = bytes("only");
  const NodeData data = packed(records);
  EXPECT_EQ(data.of_node(kOne), bytes("last"));
  EXPECT_EQ(data.of_node(kOther), bytes("only"));
  EXPECT_EQ(data.of_process(0, kOne), std::nullopt);
}

TEST(NodeData, SizesMayDifferAndDataBeMissing) {
  const NodeData data =
      packed({process("a"), ModexRecord(), process("bcd"), process("x"), process("")});
  EXPECT_EQ(data.of_process(0, kOne), bytes("a"));
  EXPECT_EQ(data.of_process(1, kOne), std::nullopt);
  EXPECT_EQ(data.of_process(2, kOne), bytes("bcd"));
  EXPECT_EQ(data.of_process(3, kOne), bytes("x"));
  EXPECT_EQ(data.of_process(4, kOne), bytes(""));
}

TEST(NodeData, TellsTheDifferentValues) {
  EXPECT_EQ(packed({process("tcp"), process("shm;tcp"), process("tcp")}).values(kOne),
            (std::vector<ModexBytes>{bytes("shm;tcp"), bytes("tcp")}));
  EXPECT_EQ(packed({process("tcp"), ModexRecord()}).values(kOne),
            (std::vector<ModexBytes>{bytes(""), bytes("tcp")}));
  EXPECT_EQ(packed({process("a"), process("b")}).values(kOther),
            (std::vector<ModexBytes>{bytes("")}));
}

TEST(NodeData, RandomRecordsComeBack) {
  const unsigned seed = 20080415;
  std::mt19937 random(seed);
  for (int round = 0; round < 200; ++round) {
    std::vector<ModexRecord> records(1 + random() % 40);
    for (ModexRecord& record : records) {
      for (std::uint32_t name = 0; name < 3; ++name) {
        if (random() % 4 == 0) continue;
        ModexBytes data(random() % 3 == 0 ? random() % 30 : 20, std::byte{7});
        for (std::byte& each : data) {
          if (random() % 5 == 0) each = std::byte(random() % 3);
        }
        record.process[name] = data;
        if (random() % 8 == 0) record.node[name] = data;
      }
    }
    const NodeData data = packed(records);
    for (std::size_t i = 0; i < records.size(); ++i) {
      for (std::uint32_t name = 0; name < 3; ++name) {
        const auto sent = records[i].process.find(name);
        const auto expected = sent == records[i].process.end()
                                  ? std::optional<ModexBytes>()
                                  : std::optional<ModexBytes>(sent->second);
        ASSERT_EQ(data.of_process(i, name), expected) << "seed " << seed << " round " << round;
      }
    }
  }
}

TEST(NodeData, DamagedBytesAreAnErrorOrOtherData) {
  std::vector<ModexRecord> records = {process("port 17"), ModexRecord(), process("port 42!")};
  records[1].node[kOther] = bytes("host");
  const ModexBytes good = NodeData::pack(records);
  for (std::size_t size = 0; size < good.size(); ++size) {
    EXPECT_FALSE(NodeData::parse({good.begin(), good.begin() + static_cast<long>(size)}).ok());
  }
  ModexBytes longer = good;
  longer.push_back(std::byte{0});
  EXPECT_FALSE(NodeData::parse(longer).ok());
  for (std::size_t at = 0; at < good.size(); ++at) {
    for (unsigned value = 0; value < 256; ++value) {
      ModexBytes damaged = good;
      damaged[at] = std::byte(value);
      const auto data = NodeData::parse(damaged);  // must not read what is not there
      if (!data.ok()) {
        EXPECT_EQ(data.status().code(), StatusCode::kProtocol);
        continue;
      }
      for (std::size_t i = 0; i < data->processes() && i < 9; ++i) (void)data->of_process(i, kOne);
      (void)data->of_node(kOther);
    }
  }
}

TEST(NodeData, ABadVersionIsAnError) {
  ModexBytes data = NodeData::pack({process("a")});
  data[0] = std::byte{NodeData::kVersion + 1};
  EXPECT_EQ(NodeData::parse(data).status().code(), StatusCode::kProtocol);
}

TEST(ModexRecord, ComesBackAndIsBounded) {
  ModexRecord record = process("mine");
  record.node[kOther] = bytes("ours");
  auto encoded = record.encode();
  ASSERT_TRUE(encoded.ok());
  encoded->resize(ModexRecord::kBytes);
  const auto decoded = ModexRecord::decode(encoded->data(), encoded->size());
  ASSERT_TRUE(decoded.ok());
  EXPECT_EQ(decoded->process, record.process);
  EXPECT_EQ(decoded->node, record.node);
  EXPECT_EQ(ModexRecord::decode(encoded->data(), 7).status().code(), StatusCode::kProtocol);
  record.process[kOther] = ModexBytes(ModexRecord::kBytes);
  EXPECT_EQ(record.encode().status().code(), StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace mad
