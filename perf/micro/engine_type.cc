#include "perf/micro/engine_type.h"

#include <cstdint>
#include <stdexcept>
#include <utility>

#include "datatype_path/describe/array_types.h"

namespace micro {
namespace {

using Type = TypeBuilder::Type;

std::uint64_t natural(std::int64_t n) { return static_cast<std::uint64_t>(n); }

std::vector<std::uint64_t> natural(const std::vector<int>& numbers) {
  return {numbers.begin(), numbers.end()};
}

}  // namespace

Type EngineTypes::keep(mad::Result<mad::TypeDescPtr> type) {
  if (!type.ok()) throw std::runtime_error("describing: " + std::string(type.status().message()));
  types_.push_back(std::move(type.value()));
  return types_.size() - 1;
}

Type EngineTypes::basic(Basic basic) { return keep(mad::TypeDesc::bytes(natural(size_of(basic)))); }

Type EngineTypes::contiguous(std::int64_t count, Type child) {
  return keep(mad::TypeDesc::contiguous(natural(count), types_[child]));
}

Type EngineTypes::vector(std::int64_t count, std::int64_t blocklength, std::int64_t stride,
                         Type child) {
  return keep(mad::TypeDesc::vector(natural(count), natural(blocklength), stride, types_[child]));
}

Type EngineTypes::indexed(const std::vector<int>& lengths, const Places& places, Type child) {
  return keep(mad::TypeDesc::indexed(natural(lengths), places, types_[child]));
}

Type EngineTypes::indexed_block(int length, const Places& places, Type child) {
  return keep(mad::TypeDesc::indexed_block(natural(length), places, types_[child]));
}

Type EngineTypes::structure(const std::vector<int>& lengths, const Places& places,
                            const std::vector<Type>& children) {
  std::vector<mad::TypeDescPtr> descriptions;
  descriptions.reserve(children.size());
  for (const Type child : children) descriptions.push_back(types_[child]);
  return keep(mad::TypeDesc::structure(natural(lengths), places, std::move(descriptions)));
}

Type EngineTypes::resized(std::int64_t lb, std::int64_t extent, Type child) {
  return keep(mad::TypeDesc::resized(lb, extent, types_[child]));
}

Type EngineTypes::subarray(const std::vector<int>& sizes, const std::vector<int>& subsizes,
                           const std::vector<int>& starts, Type child) {
  return keep(mad::subarray(natural(sizes), natural(subsizes), natural(starts), mad::ArrayOrder::kC,
                            types_[child]));
}

Type EngineTypes::darray(const BlockCyclic& share, Type child) {
  std::vector<mad::DistributedDimension> dimensions;
  for (int d = 0; d < 2; ++d) {
    dimensions.push_back(
        {natural(share.sizes[d]), mad::Distribution::kCyclic, share.blocks[d], share.grid[d]});
  }
  return keep(mad::darray(share.grid[0] * share.grid[1], share.rank, dimensions,
                          mad::ArrayOrder::kC, types_[child]));
}

mad::TypeDescPtr describe(const Layout& layout) {
  EngineTypes types;
  return types.description(layout.build(types));
}

ProgramPtr compile(const mad::TypeDesc& type) {
  auto program = mad::BlockProgram::compile(type);
  if (!program.ok()) {
    throw std::runtime_error("compiling: " + std::string(program.status().message()));
  }
  return std::move(program.value());
}

}  // namespace micro
