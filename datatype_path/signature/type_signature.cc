#include "datatype_path/signature/type_signature.h"

#include <new>

namespace mad {

Result<std::shared_ptr<const TypeSignature>> TypeSignature::build(
    std::shared_ptr<const TypedProgram> program) {
  try {
    std::shared_ptr<TypeSignature> out(new TypeSignature(std::move(program)));
    out->nodes_.reserve(out->program_->nodes().size());
    out->first_end_.reserve(out->program_->nodes().size());
    for (const TypedNode& node : out->program_->nodes()) {
      out->first_end_.push_back(out->ends_.size());
      out->nodes_.push_back(out->add(node));
    }
    return std::shared_ptr<const TypeSignature>(std::move(out));
  } catch (const std::bad_alloc&) {
    return Status(StatusCode::kNoMemory, "no memory for a datatype's signature");
  }
}

Signature TypeSignature::add(const TypedNode& node) {
  if (node.run) return power(signature_of(node.run->type), node.run->count);
  if (!node.is_struct()) {
    // All blocks hold the same child: only how often matters.
    return power(nodes_[node.child(0)], node.elements() / node.type->child().elements());
  }
  Signature sum;
  for (std::uint64_t i = 0; i < node.blocks(); ++i) {
    sum = compose(sum, power(nodes_[node.child(i)], node.type->blocklength(i)));
    ends_.push_back(sum.hash);
  }
  return sum;
}

// Of all before `block` of a struct.
Signature TypeSignature::block_prefix(std::uint32_t index, std::uint64_t block) const {
  if (block == 0) return {};
  return {ends_[first_end_[index] + block - 1], program_->node(index).block_start(block)};
}

Signature TypeSignature::prefix(std::uint64_t elements) const {
  if (elements == 0) return {};
  std::uint32_t index = program_->root();
  Signature sum = power(one(), elements / program_->elements());
  std::uint64_t left = elements % program_->elements();
  while (left > 0) {
    const TypedNode& node = program_->node(index);
    if (node.run) return compose(sum, power(signature_of(node.run->type), left));
    std::uint64_t block = 0;
    if (node.is_struct()) {
      block = node.find(left).block;
      sum = compose(sum, block_prefix(index, block));
      left -= node.block_start(block);
    }
    index = node.child(block);
    const std::uint64_t each = program_->node(index).elements();
    sum = compose(sum, power(nodes_[index], left / each));
    left %= each;
  }
  return sum;
}

BasicType TypeSignature::first() const {
  std::uint32_t index = program_->root();
  while (!program_->node(index).run) {
    const TypedNode& node = program_->node(index);
    index = node.child(node.is_struct() ? node.find(0).block : 0);
  }
  return program_->node(index).run->type;
}

}  // namespace mad
