#include "datatype_path/typed/byte_index.h"

#include <algorithm>
#include <limits>
#include <new>
#include <utility>

namespace mad {
namespace {

// sum += n * each, within 63 bits.
bool add_product(std::uint64_t n, std::uint64_t each, std::uint64_t* sum) {
  std::uint64_t product = 0;
  return !__builtin_mul_overflow(n, each, &product) &&
         !__builtin_add_overflow(*sum, product, sum) &&
         *sum <= static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
}

}  // namespace

Result<ByteIndex> ByteIndex::build(std::shared_ptr<const TypedProgram> program,
                                   const BasicSizes& sizes) {
  try {
    ByteIndex index(std::move(program), sizes);
    index.bytes_.reserve(index.program_->nodes().size());
    index.first_end_.reserve(index.program_->nodes().size());
    for (const TypedNode& node : index.program_->nodes()) {
      if (!index.add(node)) {
        return Status(StatusCode::kInvalidArgument,
                      "the datatype's packed bytes exceed 2^63 - 1 in the other representation");
      }
    }
    return index;
  } catch (const std::bad_alloc&) {
    return Status(StatusCode::kNoMemory, "no memory for a datatype's byte index");
  }
}

bool ByteIndex::add(const TypedNode& node) {
  std::uint64_t bytes = 0;
  bool fits = true;
  first_end_.push_back(ends_.size());
  if (node.run) {
    fits = add_product(node.run->count, size_of(node.run->type), &bytes);
  } else if (node.is_struct()) {
    for (std::uint64_t i = 0; i < node.blocks(); ++i) {
      fits = fits && add_product(node.type->blocklength(i), bytes_[node.child(i)], &bytes);
      ends_.push_back(bytes);
    }
  } else {
    const std::uint64_t each = node.type->child().elements();
    fits = add_product(node.elements() / each, bytes_[node.child(0)], &bytes);
  }
  bytes_.push_back(bytes);
  return fits;
}

ByteIndex::Place ByteIndex::find(std::uint64_t offset) const {
  std::uint64_t element = offset / bytes() * program_->elements();
  offset %= bytes();
  for (std::uint32_t index = program_->root();;) {
    const TypedNode& node = program_->node(index);
    if (node.run) {
      const std::uint64_t size = size_of(node.run->type);
      return {element + offset / size, offset % size};
    }
    std::uint64_t block = 0;
    if (node.is_struct()) {
      const std::uint64_t* const ends = ends_.data() + first_end_[index];
      block =
          static_cast<std::uint64_t>(std::upper_bound(ends, ends + node.blocks(), offset) - ends);
      offset -= block == 0 ? 0 : ends[block - 1];
      element += node.block_start(block);
    }
    index = node.child(block);
    element += offset / bytes_[index] * program_->node(index).elements();
    offset %= bytes_[index];
  }
}

std::uint64_t ByteIndex::start(std::uint64_t element) const {
  std::uint64_t offset = element / program_->elements() * bytes();
  element %= program_->elements();
  for (std::uint32_t index = program_->root();;) {
    const TypedNode& node = program_->node(index);
    if (node.run) return offset + element * size_of(node.run->type);
    std::uint64_t block = 0;
    if (node.is_struct()) {
      block = node.find(element).block;
      offset += block == 0 ? 0 : ends_[first_end_[index] + block - 1];
      element -= node.block_start(block);
    }
    index = node.child(block);
    const std::uint64_t each = program_->node(index).elements();
    offset += element / each * bytes_[index];
    element %= each;
  }
}

}  // namespace mad
