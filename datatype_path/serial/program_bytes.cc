#include "datatype_path/serial/program_bytes.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <new>
#include <string>
#include <utility>

#include "datatype_path/serial/complete_tables.h"
#include "datatype_path/serial/varint.h"

namespace mad {
namespace {

constexpr std::array<std::byte, 3> kMagic = {std::byte{'M'}, std::byte{'B'}, std::byte{'P'}};
constexpr std::byte kVersion{1};
// Numbers of a loop before its lists, of a byte each at least.
constexpr std::uint64_t kNumbersOfLoop = 5;
constexpr std::uint64_t kMaxBytes = std::numeric_limits<std::int64_t>::max();

struct Totals {
  std::uint64_t loops = 0;
  std::uint64_t parts = 0;
  std::uint64_t sizes = 0;
  std::uint64_t children = 0;
};

// Where numbers go that are only counted.
struct Measure {
  std::size_t bytes = 0;
  void number(std::uint64_t value) { bytes += varint_bytes(value); }
};

struct Writer {
  std::byte* at;
  void number(std::uint64_t value) { at = put_varint(at, value); }
};

Totals totals_of(const BlockProgram& program) {
  Totals sum;
  sum.loops = program.loops();
  for (std::uint32_t i = 0; i < program.loops(); ++i) {
    const LoopNode& node = program.node(i);
    sum.parts += node.parts;
    if (node.uniform == 0) sum.sizes += node.parts;
    if (!node.leaf()) sum.children += node.parts;
  }
  return sum;
}

template <typename Out>
void put_loop(const LoopNode& node, Out& out) {
  out.number(node.count);
  out.number(zigzag(node.stride));
  out.number(node.height);
  out.number(node.parts);
  out.number(node.uniform);
  std::uint64_t last = 0;
  for (std::uint64_t p = 0; p < node.parts; ++p) {
    const auto offset = static_cast<std::uint64_t>(node.offset(p));
    out.number(zigzag(static_cast<std::int64_t>(offset - last)));
    last = offset;
  }
  if (node.uniform == 0) {
    for (std::uint64_t p = 0; p < node.parts; ++p) out.number(node.part_bytes(p));
  }
  if (!node.leaf()) {
    for (std::uint64_t p = 0; p < node.parts; ++p) {
      out.number(node.children[p] == LoopNode::kRun ? 0 : node.children[p]);
    }
  }
}

// All after magic and version.
template <typename Out>
void put_program(const BlockProgram& program, Out& out) {
  const Totals totals = totals_of(program);
  out.number(zigzag(program.lb()));
  out.number(zigzag(program.extent()));
  out.number(totals.loops);
  out.number(totals.parts);
  out.number(totals.sizes);
  out.number(totals.children);
  for (std::uint32_t i = 0; i < program.loops(); ++i) put_loop(program.node(i), out);
}

// Reads the form once, front to back, and checks what each loop says of itself.  Its functions are
// false when something is wrong; status() tells what.
class Reader {
 public:
  Reader(const std::byte* bytes, std::size_t size)
      : begin_(bytes), at_(bytes), end_(bytes + size) {}

  bool read(BlockProgram::Tables& tables) {
    if (!read_preamble()) return false;
    if (!signed_number("lb", &tables.lb) || !signed_number("extent", &tables.shape.extent) ||
        !read_totals()) {
      return false;
    }
    // Reserved at once: the nodes point into the lists.
    tables.nodes.reserve(left_.loops);
    tables.offsets.reserve(left_.parts);
    tables.ends.reserve(left_.sizes);
    tables.children.reserve(left_.children);
    while (tables.nodes.size() < loops_) {
      if (!read_loop(tables)) return false;
    }
    if (left_.parts != 0) return wrong("more parts were announced than the loops have");
    if (left_.sizes != 0) return wrong("more sizes were announced than the loops list");
    if (left_.children != 0) return wrong("more children were announced than the loops list");
    if (at_ != end_) {
      return wrong("bytes follow the last loop: " + std::to_string(end_ - at_));
    }
    return true;
  }

  Status status() const { return status_; }

 private:
  bool fail(StatusCode code, const std::string& why) {
    status_ = Status(code, "program form, byte " + std::to_string(at_ - begin_) + ": " + why);
    return false;
  }
  bool wrong(const std::string& why) { return fail(StatusCode::kProtocol, why); }
  bool wrong_loop(const std::string& why) {
    return wrong("loop " + std::to_string(loop_) + " " + why);
  }

  bool number(const char* what, std::uint64_t* value) {
    const VarintError error = get_varint(&at_, end_, value);
    return error == VarintError::kNone || no_number(what, error);
  }

  bool no_number(const char* what, VarintError error) {
    switch (error) {
      case VarintError::kNone:
        break;
      case VarintError::kEnds:
        return wrong(std::string("the bytes end in ") + what);
      case VarintError::kTooBig:
        return wrong(std::string("more than 64 bits for ") + what);
      case VarintError::kTooLong:
        return wrong(std::string("more bytes than needed for ") + what);
    }
    return false;
  }

  bool signed_number(const char* what, std::int64_t* value) {
    std::uint64_t zigzagged = 0;
    if (!number(what, &zigzagged)) return false;
    *value = unzigzag(zigzagged);
    return true;
  }

  bool read_preamble() {
    for (const std::byte expected : kMagic) {
      if (at_ == end_) return wrong("the bytes end in the magic");
      if (*at_ != expected) return wrong("no magic, this is not a program");
      ++at_;
    }
    if (at_ == end_) return wrong("the bytes end before the version");
    if (*at_ != kVersion) {
      return fail(StatusCode::kVersion, "version " + std::to_string(std::to_integer<int>(*at_)) +
                                            ", this side reads version " +
                                            std::to_string(std::to_integer<int>(kVersion)));
    }
    ++at_;
    return true;
  }

  bool read_totals() {
    if (!number("the number of loops", &left_.loops) ||
        !number("the number of parts", &left_.parts) ||
        !number("the number of sizes", &left_.sizes) ||
        !number("the number of children", &left_.children)) {
      return false;
    }
    if (left_.loops >= LoopNode::kRun) return wrong("more than 2^32 - 2 loops");
    // Of the others each is looked at alone first, too, so that the sum cannot overflow.
    const auto room = static_cast<std::uint64_t>(end_ - at_);
    if (left_.parts > room || left_.sizes > room || left_.children > room ||
        kNumbersOfLoop * left_.loops + left_.parts + left_.sizes + left_.children > room) {
      return wrong("the loops announced need more than the " + std::to_string(room) +
                   " bytes that follow");
    }
    loops_ = left_.loops;
    return true;
  }

  // Lists are appended to the tables within what was reserved for them.
  bool read_loop(BlockProgram::Tables& tables) {
    loop_ = tables.nodes.size();
    LoopNode node;
    std::uint64_t height = 0;
    if (!number("a loop's count", &node.count) || !signed_number("a loop's stride", &node.stride) ||
        !number("a loop's height", &height) || !number("a loop's number of parts", &node.parts) ||
        !number("a loop's uniform size", &node.uniform)) {
      return false;
    }
    if (node.count == 0 || node.count > kMaxBytes)
      return wrong_loop("has no count in 1 .. 2^63 - 1");
    if (height == 0 || height > loops_) return wrong_loop("has no height in 1 .. number of loops");
    node.height = static_cast<std::uint32_t>(height);
    if (node.parts == 0) return wrong_loop("has no parts");
    if (node.parts > left_.parts) return wrong_loop("has more parts than were announced");
    left_.parts -= node.parts;
    if (!read_offsets(node, tables) || !read_sizes(node, tables) || !read_children(node, tables)) {
      return false;
    }
    if (node.body_bytes > kMaxBytes / node.count)
      return wrong_loop("packs more than 2^63 - 1 bytes");
    if (loop_ > 0 && node.offsets[0] != 0) return wrong_loop("does not start with its first part");
    if (loop_ > 0 && node.count == 1 && node.stride != 0) {
      return wrong_loop("has a stride but one trip");
    }
    tables.nodes.push_back(node);
    return true;
  }

  bool read_offsets(LoopNode& node, BlockProgram::Tables& tables) {
    node.offsets = tables.offsets.data() + tables.offsets.size();
    std::uint64_t offset = 0;
    for (std::uint64_t p = 0; p < node.parts; ++p) {
      std::int64_t distance = 0;
      if (!signed_number("a part's offset", &distance)) return false;
      offset += static_cast<std::uint64_t>(distance);
      tables.offsets.push_back(static_cast<std::int64_t>(offset));
    }
    return true;
  }

  bool read_sizes(LoopNode& node, BlockProgram::Tables& tables) {
    if (node.uniform != 0) {
      if (node.uniform > kMaxBytes / node.parts)
        return wrong_loop("has a body of more than 2^63 - 1 bytes");
      node.body_bytes = node.uniform * node.parts;
      node.min_run = node.max_run = node.uniform;
      return true;
    }
    if (node.parts > left_.sizes) return wrong_loop("lists more sizes than were announced");
    left_.sizes -= node.parts;
    node.ends = tables.ends.data() + tables.ends.size();
    node.min_run = UINT64_MAX;
    for (std::uint64_t p = 0; p < node.parts; ++p) {
      std::uint64_t size = 0;
      if (!number("a part's size", &size)) return false;
      if (size == 0) return wrong_loop("has a part of no bytes");
      if (size > kMaxBytes - node.body_bytes)
        return wrong_loop("has a body of more than 2^63 - 1 bytes");
      node.body_bytes += size;
      tables.ends.push_back(node.body_bytes);
      node.min_run = std::min(node.min_run, size);
      node.max_run = std::max(node.max_run, size);
    }
    if (node.min_run == node.max_run) return wrong_loop("lists sizes that are all equal");
    return true;
  }

  bool read_children(LoopNode& node, BlockProgram::Tables& tables) {
    if (node.height == 1) return true;
    if (node.parts > left_.children) return wrong_loop("lists more children than were announced");
    left_.children -= node.parts;
    node.children = tables.children.data() + tables.children.size();
    for (std::uint64_t p = 0; p < node.parts; ++p) {
      std::uint64_t child = 0;
      if (!number("a part's child", &child)) return false;
      if (child >= loops_) return wrong_loop("has a child that is no loop's number");
      tables.children.push_back(child == 0 ? LoopNode::kRun : static_cast<std::uint32_t>(child));
    }
    return true;
  }

  const std::byte* begin_;
  const std::byte* at_;
  const std::byte* end_;
  Totals left_;  // announced and not yet seen
  std::uint64_t loops_ = 0;
  std::uint64_t loop_ = 0;  // the one being read
  Status status_;
};

}  // namespace

std::size_t serialized_size(const BlockProgram& program) {
  Measure measure;
  put_program(program, measure);
  return kMagic.size() + sizeof kVersion + measure.bytes;
}

Result<std::size_t> serialize(const BlockProgram& program, void* out, std::size_t capacity) {
  const std::size_t size = serialized_size(program);
  if (size > capacity) {
    return Status(StatusCode::kInvalidArgument, "the program takes " + std::to_string(size) +
                                                    " bytes, there is room for " +
                                                    std::to_string(capacity));
  }
  Writer writer{std::copy(kMagic.begin(), kMagic.end(), static_cast<std::byte*>(out))};
  *writer.at++ = kVersion;
  put_program(program, writer);
  return size;
}

Result<std::shared_ptr<const BlockProgram>> deserialize(const void* bytes, std::size_t size,
                                                        const KernelTable& kernels) {
  try {
    Reader reader(static_cast<const std::byte*>(bytes), size);
    BlockProgram::Tables tables;
    if (!reader.read(tables)) return reader.status();
    Status complete = complete_tables(tables);
    if (!complete.ok()) return complete;
    return BlockProgram::from_tables(std::move(tables), kernels);
  } catch (const std::bad_alloc&) {
    return Status(StatusCode::kNoMemory, "no memory for a program");
  }
}

}  // namespace mad
