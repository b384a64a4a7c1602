// MpiTypes: layouts as datatypes of whatever MPI this is compiled with.
#ifndef PERF_MICRO_MPI_TYPE_H_
#define PERF_MICRO_MPI_TYPE_H_

#include <mpi.h>

#include <vector>

#include "perf/micro/layouts.h"

namespace micro {

/// Frees what it built, except predefined types.  Errors are MPI's own (fatal).
class MpiTypes final : public TypeBuilder {
 public:
  MpiTypes() = default;
  ~MpiTypes() override;
  MpiTypes(const MpiTypes&) = delete;
  MpiTypes& operator=(const MpiTypes&) = delete;

  /// Committed, and valid as long as this builder.
  MPI_Datatype committed(Type type);

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
  struct Built {
    MPI_Datatype type;
    bool predefined;
  };
  Type keep(MPI_Datatype type, bool predefined = false);

  std::vector<Built> types_;
};

}  // namespace micro

#endif  // PERF_MICRO_MPI_TYPE_H_
