#include "datatype_path/explain/explain.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <unordered_map>

namespace mad {
namespace {

constexpr std::uint64_t kShownItems = 8;  // of a list
constexpr int kShownLevels = 12;          // of a tree
constexpr int kShownNodes = 64;           // of a tree

template <typename Number>
std::string text(Number value) {
  return std::to_string(value);
}

std::string range(std::int64_t low, std::int64_t extent) {
  return "[" + text(low) + ", " + text(low + extent) + ")";
}

// "4 blocks", "1 block".
std::string several(std::uint64_t count, std::string_view what) {
  return text(count) + " " + std::string(what) + (count == 1 ? "" : "s");
}

// The first items, and how many there are if that is not all.
template <typename Item>
std::string list(std::uint64_t count, Item item) {
  std::string out = "[";
  for (std::uint64_t i = 0; i < std::min(count, kShownItems); ++i) {
    out += (i == 0 ? "" : ", ") + item(i);
  }
  if (count > kShownItems) out += ", ... " + text(count) + " in all";
  return out + "]";
}

// Writes a tree.  Recursion is as deep as what is shown.
class Tree {
 public:
  std::string write(const TypeDesc& root) {
    node(root, "", 0);
    return out_;
  }

 private:
  void node(const TypeDesc& type, const std::string& place, int level) {
    out_ += std::string(2 * static_cast<std::size_t>(level), ' ') + place;
    if (type.kind() == TypeDesc::Kind::kBytes) {
      out_ += leaf(type) + "\n";
      return;
    }
    const auto [known, is_new] = numbers_.emplace(&type, numbers_.size() + 1);
    out_ += "#" + text(known->second);
    if (!is_new) {
      out_ += " again\n";
      return;
    }
    out_ += " " + constructor(type) + ": " + text(type.size()) + " bytes, extent " +
            range(type.lb(), type.extent());
    if (type.true_lb() != type.lb() || type.true_extent() != type.extent()) {
      out_ += ", true " + range(type.true_lb(), type.true_extent());
    }
    out_ += "\n";
    children(type, level + 1);
  }

  void children(const TypeDesc& type, int level) {
    if (type.children().empty()) return;
    const std::string indent(2 * static_cast<std::size_t>(level), ' ');
    if (level > kShownLevels || numbers_.size() >= kShownNodes) {
      out_ += indent + "...\n";
      return;
    }
    if (type.kind() != TypeDesc::Kind::kStruct) return node(type.child(), "", level);
    for (std::uint64_t i = 0; i < std::min(type.count(), kShownItems); ++i) {
      const std::string length = type.blocklength(i) == 1 ? "" : text(type.blocklength(i)) + " x ";
      node(type.child(i), "at " + text(type.displacement(i)) + ": " + length, level);
    }
    if (type.count() > kShownItems) {
      out_ += indent + "... " + several(type.count(), "block") + " in all\n";
    }
  }

  static std::string leaf(const TypeDesc& type) {
    const std::string name(info(type.basic_type()).name);
    return type.elements() == 1 ? name : text(type.elements()) + " x " + name;
  }

  static std::string constructor(const TypeDesc& type) {
    const auto place = [&type](std::uint64_t i) { return text(type.displacement(i)); };
    const auto length = [&type](std::uint64_t i) { return text(type.blocklength(i)); };
    switch (type.kind()) {
      case TypeDesc::Kind::kBytes:
        break;
      case TypeDesc::Kind::kContiguous:
        return "contiguous, " + text(type.count());
      case TypeDesc::Kind::kVector:
        return "vector, " + several(type.count(), "block") + " of " + length(0) + ", " +
               text(type.stride()) + " bytes apart";
      case TypeDesc::Kind::kIndexed:
        return "indexed, blocks of " + list(type.count(), length) + " at " +
               list(type.count(), place);
      case TypeDesc::Kind::kIndexedBlock:
        return "indexed, blocks of " + length(0) + " at " + list(type.count(), place);
      case TypeDesc::Kind::kStruct:
        return "struct of " + several(type.count(), "block");
      case TypeDesc::Kind::kResized:
        return "resized";
    }
    return {};
  }

  std::unordered_map<const TypeDesc*, std::size_t> numbers_;
  std::string out_;
};

std::string indented(const std::string& body) {
  std::string out;
  for (std::size_t at = 0; at < body.size();) {
    const std::size_t end = body.find('\n', at) + 1;
    out += "  " + body.substr(at, end - at);
    at = end;
  }
  return out;
}

}  // namespace

std::string explain(const TypeDesc& type) { return "description\n" + indented(Tree().write(type)); }

std::string explain(const Shape& shape) {
  std::string out =
      "shape\n  " + several(shape.bytes, "byte") + " in " + several(shape.runs, "run");
  if (shape.runs > 1) {
    out += " of " + text(shape.min_run) + " to " + text(shape.max_run) + " bytes, " +
           text(shape.mean_run()) + " on average";
  }
  out += ", extent " + text(shape.extent) + (shape.contiguous ? ", contiguous\n" : "\n");
  for (std::size_t k = 0; k < shape.histogram.size(); ++k) {
    if (shape.histogram[k] == 0) continue;
    const std::uint64_t from = std::uint64_t{1} << k;
    const std::string lengths =
        k == 0 ? "1 byte" : text(from) + " .. " + text(from + (from - 1)) + " bytes";
    out += "  of " + lengths + ": " + several(shape.histogram[k], "run") + "\n";
  }
  return out;
}

std::string explain(const TypeDesc& type, const BlockProgram& program) {
  return explain(type) + program.to_string() + explain(program.shape());
}

}  // namespace mad
