#include "perf/micro/mpi_type.h"

namespace micro {
namespace {

using Type = TypeBuilder::Type;

std::vector<MPI_Aint> addresses(const Places& places) { return {places.begin(), places.end()}; }

}  // namespace

MpiTypes::~MpiTypes() {
  for (Built& built : types_) {
    if (!built.predefined) MPI_Type_free(&built.type);
  }
}

Type MpiTypes::keep(MPI_Datatype type, bool predefined) {
  types_.push_back({type, predefined});
  return types_.size() - 1;
}

MPI_Datatype MpiTypes::committed(Type type) {
  MPI_Type_commit(&types_[type].type);
  return types_[type].type;
}

Type MpiTypes::basic(Basic basic) {
  switch (basic) {
    case Basic::kByte:
      return keep(MPI_BYTE, true);
    case Basic::kInt:
      return keep(MPI_INT, true);
    case Basic::kFloat:
      return keep(MPI_FLOAT, true);
    case Basic::kDouble:
      break;
  }
  return keep(MPI_DOUBLE, true);
}

Type MpiTypes::contiguous(std::int64_t count, Type child) {
  MPI_Datatype type;
  MPI_Type_contiguous(static_cast<int>(count), types_[child].type, &type);
  return keep(type);
}

Type MpiTypes::vector(std::int64_t count, std::int64_t blocklength, std::int64_t stride,
                      Type child) {
  MPI_Datatype type;
  MPI_Type_create_hvector(static_cast<int>(count), static_cast<int>(blocklength), stride,
                          types_[child].type, &type);
  return keep(type);
}

Type MpiTypes::indexed(const std::vector<int>& lengths, const Places& places, Type child) {
  MPI_Datatype type;
  MPI_Type_create_hindexed(static_cast<int>(lengths.size()), lengths.data(),
                           addresses(places).data(), types_[child].type, &type);
  return keep(type);
}

Type MpiTypes::indexed_block(int length, const Places& places, Type child) {
  MPI_Datatype type;
  MPI_Type_create_hindexed_block(static_cast<int>(places.size()), length, addresses(places).data(),
                                 types_[child].type, &type);
  return keep(type);
}

Type MpiTypes::structure(const std::vector<int>& lengths, const Places& places,
                         const std::vector<Type>& children) {
  std::vector<MPI_Datatype> types;
  types.reserve(children.size());
  for (const Type child : children) types.push_back(types_[child].type);
  MPI_Datatype type;
  MPI_Type_create_struct(static_cast<int>(lengths.size()), lengths.data(), addresses(places).data(),
                         types.data(), &type);
  return keep(type);
}

Type MpiTypes::resized(std::int64_t lb, std::int64_t extent, Type child) {
  MPI_Datatype type;
  MPI_Type_create_resized(types_[child].type, lb, extent, &type);
  return keep(type);
}

Type MpiTypes::subarray(const std::vector<int>& sizes, const std::vector<int>& subsizes,
                        const std::vector<int>& starts, Type child) {
  MPI_Datatype type;
  MPI_Type_create_subarray(static_cast<int>(sizes.size()), sizes.data(), subsizes.data(),
                           starts.data(), MPI_ORDER_C, types_[child].type, &type);
  return keep(type);
}

Type MpiTypes::darray(const BlockCyclic& share, Type child) {
  const int cyclic[] = {MPI_DISTRIBUTE_CYCLIC, MPI_DISTRIBUTE_CYCLIC};
  MPI_Datatype type;
  MPI_Type_create_darray(share.grid[0] * share.grid[1], share.rank, 2, share.sizes.data(), cyclic,
                         share.blocks.data(), share.grid.data(), MPI_ORDER_C, types_[child].type,
                         &type);
  return keep(type);
}

}  // namespace micro
