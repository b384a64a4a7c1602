// EngineTypes: layouts as descriptions of this engine.
#ifndef PERF_MICRO_ENGINE_TYPE_H_
#define PERF_MICRO_ENGINE_TYPE_H_

#include <memory>
#include <vector>

#include "datatype_path/describe/type_desc.h"
#include "datatype_path/program/block_program.h"
#include "perf/micro/layouts.h"

namespace micro {

/// Throws std::runtime_error with the engine's words if it refuses a type.
class EngineTypes final : public TypeBuilder {
 public:
  const mad::TypeDescPtr& description(Type type) const { return types_[type]; }

  Type basic(Basic basic) override;
  Type contiguous(std::int64_t count, Type child) override;
  Type vector(std::int64_t count, std::int64_t blocklength, std::int64_t stride,
              Type child) override;
  Type indexed(const std::vector<int>& lengths, const Places& places, Type child) override;
  Type indexed_block(int length, const Places& places, Type child) override;
  Type structure(const std::vector<int>& lengths, const Places& places,
                 const std::vector<Type>& children) override;
  Type resized(std::int64_t lb, std::int64_t extent, Type child) override;
  Type subarray(const std::vector<int>& sizes, const std::vector<int>& subsizes,
                const std::vector<int>& starts, Type child) override;
  Type darray(const BlockCyclic& share, Type child) override;

 private:
  Type keep(mad::Result<mad::TypeDescPtr> type);

  std::vector<mad::TypeDescPtr> types_;
};

using ProgramPtr = std::shared_ptr<const mad::BlockProgram>;

mad::TypeDescPtr describe(const Layout& layout);
ProgramPtr compile(const mad::TypeDesc& type);

}  // namespace micro

#endif  // PERF_MICRO_ENGINE_TYPE_H_
