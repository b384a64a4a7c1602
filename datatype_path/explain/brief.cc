#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>

#include "datatype_path/explain/explain.h"

namespace mad {
namespace {

constexpr std::size_t kLongest = 100;
constexpr int kShownLevels = 4;
constexpr std::uint64_t kShownBlocks = 3;  // of a struct
constexpr const char* kMore = "...";

std::string text(std::uint64_t value) { return std::to_string(value); }

std::string brief(const TypeDesc& type, int level);

// "3 x 2 int", "3 x int"
std::string blocks(const TypeDesc& type, int level) {
  const std::uint64_t length = type.blocklength(0);
  return text(type.count()) + " x " + (length == 1 ? "" : text(length) + " ") +
         brief(type.child(), level);
}

std::string structure(const TypeDesc& type, int level) {
  std::string out = "struct(";
  for (std::uint64_t i = 0; i < std::min(type.count(), kShownBlocks); ++i) {
    const std::uint64_t length = type.blocklength(i);
    out += (i == 0 ? "" : ", ") + (length == 1 ? "" : text(length) + " ") +
           brief(type.child(i), level);
  }
  if (type.count() > kShownBlocks) out += ", ... " + text(type.count()) + " blocks";
  return out + ")";
}

std::string brief(const TypeDesc& type, int level) {
  if (level > kShownLevels) return kMore;
  switch (type.kind()) {
    case TypeDesc::Kind::kBytes: {
      const std::string name(info(type.basic_type()).name);
      return type.elements() == 1 ? name : name + "[" + text(type.elements()) + "]";
    }
    case TypeDesc::Kind::kContiguous:
      return "contiguous(" + text(type.count()) + " x " + brief(type.child(), level + 1) + ")";
    case TypeDesc::Kind::kVector:
      return "vector(" + blocks(type, level + 1) + ", stride " + std::to_string(type.stride()) +
             ")";
    case TypeDesc::Kind::kIndexed:
      return "indexed(" + text(type.count()) + " blocks of " + brief(type.child(), level + 1) + ")";
    case TypeDesc::Kind::kIndexedBlock:
      return type.count() == 0 ? "indexed(0 blocks)" : "indexed(" + blocks(type, level + 1) + ")";
    case TypeDesc::Kind::kStruct:
      return structure(type, level + 1);
    case TypeDesc::Kind::kResized:
      return "resized(" + brief(type.child(), level + 1) + ", extent " +
             std::to_string(type.extent()) + ")";
  }
  return kMore;
}

}  // namespace

std::string brief(const TypeDesc& type) {
  std::string out = brief(type, 0);
  if (out.size() > kLongest) out = out.substr(0, kLongest - std::string(kMore).size()) + kMore;
  return out;
}

}  // namespace mad
