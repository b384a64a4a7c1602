// The constructors of types: checks of what C callers can get wrong, then the describe room's
// factories.
#include <string>
#include <utility>
#include <vector>

#include "datatype_path/describe/array_types.h"
#include "datatype_path/describe/type_desc.h"
#include "netmod/abi/c_enum.h"
#include "netmod/abi/errors.h"
#include "netmod/abi/types.h"

namespace {

using mad::fail;
using mad::guarded;
using mad::TypeDesc;
using mad::TypeDescPtr;

int null_argument(const char* function, const char* what) {
  return fail(MAD_ERR_ARGUMENT, std::string(function) + ": " + what + " is NULL");
}

int wrap(mad::Result<TypeDescPtr> made, mad_type** out) {
  if (!made.ok()) return mad::to_abi(made.status());
  *out = new mad_type(std::move(made.value()));
  return MAD_SUCCESS;
}

/// Whether a type can be made of this one.
int check_child(const mad_type* child, const char* function) {
  if (child == nullptr) return null_argument(function, "a child type");
  if (!child->foreign) return MAD_SUCCESS;
  return fail(MAD_ERR_ARGUMENT,
              std::string(function) + ": no type can be made of one of mad_type_deserialize()");
}

/// Runs `make` unless a handle is missing.
template <typename Make>
int construct(const char* function, const mad_type* child, mad_type** out, Make&& make) {
  return guarded([&]() -> int {
    if (out == nullptr) return null_argument(function, "out");
    if (const int bad = check_child(child, function)) return bad;
    return wrap(make(child->desc), out);
  });
}

int parse(const mad_order& given, const char* function, mad::ArrayOrder* out) {
  const int order = mad::c_value(given);
  if (order != MAD_ORDER_C && order != MAD_ORDER_FORTRAN) {
    return fail(MAD_ERR_ARGUMENT,
                std::string(function) + ": order is neither MAD_ORDER_C nor MAD_ORDER_FORTRAN");
  }
  *out = order == MAD_ORDER_C ? mad::ArrayOrder::kC : mad::ArrayOrder::kFortran;
  return MAD_SUCCESS;
}

int parse(const mad_distribution& given, const char* function, mad::Distribution* out) {
  switch (mad::c_value(given)) {
    case MAD_DIST_NONE:
      *out = mad::Distribution::kNone;
      return MAD_SUCCESS;
    case MAD_DIST_BLOCK:
      *out = mad::Distribution::kBlock;
      return MAD_SUCCESS;
    case MAD_DIST_CYCLIC:
      *out = mad::Distribution::kCyclic;
      return MAD_SUCCESS;
  }
  return fail(MAD_ERR_ARGUMENT, std::string(function) +
                                    ": a distribution is none of MAD_DIST_NONE, MAD_DIST_BLOCK, "
                                    "MAD_DIST_CYCLIC");
}

template <typename T>
std::vector<T> copy(const T* values, std::uint64_t count) {
  return count == 0 ? std::vector<T>() : std::vector<T>(values, values + count);
}

}  // namespace

extern "C" int mad_type_bytes(uint64_t size, mad_type** out) {
  return guarded([&]() -> int {
    if (out == nullptr) return null_argument("mad_type_bytes", "out");
    return wrap(TypeDesc::bytes(size), out);
  });
}

extern "C" int mad_type_basic(mad_basic kind, mad_type** out) {
  static_assert(MAD_BASIC_KINDS == static_cast<int>(mad::kBasicTypes));
  return guarded([&]() -> int {
    if (out == nullptr) return null_argument("mad_type_basic", "out");
    const int number = mad::c_value(kind);
    if (number < 0 || number >= MAD_BASIC_KINDS) {
      return fail(MAD_ERR_ARGUMENT, "mad_type_basic: kind is none of the MAD_BASIC_ values");
    }
    return wrap(TypeDesc::basic(static_cast<mad::BasicType>(number)), out);
  });
}

extern "C" int mad_type_contiguous(uint64_t count, mad_type* child, mad_type** out) {
  return construct("mad_type_contiguous", child, out,
                   [&](const TypeDescPtr& desc) { return TypeDesc::contiguous(count, desc); });
}

extern "C" int mad_type_vector(uint64_t count, uint64_t blocklength, int64_t stride,
                               mad_type* child, mad_type** out) {
  return construct("mad_type_vector", child, out, [&](const TypeDescPtr& desc) {
    return TypeDesc::vector(count, blocklength, stride, desc);
  });
}

extern "C" int mad_type_indexed(uint64_t count, const uint64_t* blocklengths,
                                const int64_t* displacements, mad_type* child, mad_type** out) {
  constexpr const char* kName = "mad_type_indexed";
  return guarded([&]() -> int {
    if (count > 0 && blocklengths == nullptr) return null_argument(kName, "blocklengths");
    if (count > 0 && displacements == nullptr) return null_argument(kName, "displacements");
    return construct(kName, child, out, [&](const TypeDescPtr& desc) {
      return TypeDesc::indexed(copy(blocklengths, count), copy(displacements, count), desc);
    });
  });
}

extern "C" int mad_type_indexed_block(uint64_t count, uint64_t blocklength,
                                      const int64_t* displacements, mad_type* child,
                                      mad_type** out) {
  constexpr const char* kName = "mad_type_indexed_block";
  return guarded([&]() -> int {
    if (count > 0 && displacements == nullptr) return null_argument(kName, "displacements");
    return construct(kName, child, out, [&](const TypeDescPtr& desc) {
      return TypeDesc::indexed_block(blocklength, copy(displacements, count), desc);
    });
  });
}

extern "C" int mad_type_struct(uint64_t count, const uint64_t* blocklengths,
                               const int64_t* displacements, mad_type* const* children,
                               mad_type** out) {
  constexpr const char* kName = "mad_type_struct";
  return guarded([&]() -> int {
    if (out == nullptr) return null_argument(kName, "out");
    if (count > 0 && blocklengths == nullptr) return null_argument(kName, "blocklengths");
    if (count > 0 && displacements == nullptr) return null_argument(kName, "displacements");
    if (count > 0 && children == nullptr) return null_argument(kName, "children");
    std::vector<TypeDescPtr> descs;
    for (std::uint64_t i = 0; i < count; ++i) {
      if (const int bad = check_child(children[i], kName)) return bad;
      descs.push_back(children[i]->desc);
    }
    return wrap(TypeDesc::structure(copy(blocklengths, count), copy(displacements, count),
                                    std::move(descs)),
                out);
  });
}

extern "C" int mad_type_subarray(int ndims, const uint64_t* sizes, const uint64_t* subsizes,
                                 const uint64_t* starts, mad_order order, mad_type* child,
                                 mad_type** out) {
  constexpr const char* kName = "mad_type_subarray";
  return guarded([&]() -> int {
    if (ndims < 1) return fail(MAD_ERR_ARGUMENT, "mad_type_subarray: ndims must be at least 1");
    if (sizes == nullptr) return null_argument(kName, "sizes");
    if (subsizes == nullptr) return null_argument(kName, "subsizes");
    if (starts == nullptr) return null_argument(kName, "starts");
    mad::ArrayOrder array_order = mad::ArrayOrder::kC;
    if (const int error = parse(order, kName, &array_order)) return error;
    const auto dimensions = static_cast<std::uint64_t>(ndims);
    return construct(kName, child, out, [&](const TypeDescPtr& desc) {
      return mad::subarray(copy(sizes, dimensions), copy(subsizes, dimensions),
                           copy(starts, dimensions), array_order, desc);
    });
  });
}

extern "C" int mad_type_darray(int size, int rank, int ndims, const uint64_t* gsizes,
                               const mad_distribution* distribs, const int64_t* dargs,
                               const int* psizes, mad_order order, mad_type* child,
                               mad_type** out) {
  constexpr const char* kName = "mad_type_darray";
  return guarded([&]() -> int {
    if (ndims < 1) return fail(MAD_ERR_ARGUMENT, "mad_type_darray: ndims must be at least 1");
    if (gsizes == nullptr) return null_argument(kName, "gsizes");
    if (distribs == nullptr) return null_argument(kName, "distribs");
    if (dargs == nullptr) return null_argument(kName, "dargs");
    if (psizes == nullptr) return null_argument(kName, "psizes");
    mad::ArrayOrder array_order = mad::ArrayOrder::kC;
    if (const int error = parse(order, kName, &array_order)) return error;
    std::vector<mad::DistributedDimension> dimensions(static_cast<std::size_t>(ndims));
    for (std::size_t i = 0; i < dimensions.size(); ++i) {
      dimensions[i].size = gsizes[i];
      dimensions[i].argument = dargs[i];
      dimensions[i].processes = psizes[i];
      if (const int error = parse(distribs[i], kName, &dimensions[i].distribution)) return error;
    }
    return construct(kName, child, out, [&](const TypeDescPtr& desc) {
      return mad::darray(size, rank, dimensions, array_order, desc);
    });
  });
}

extern "C" int mad_type_resized(int64_t lb, int64_t extent, mad_type* child, mad_type** out) {
  return construct("mad_type_resized", child, out,
                   [&](const TypeDescPtr& desc) -> mad::Result<TypeDescPtr> {
                     if (lb == desc->lb() && extent == desc->extent()) return TypeDescPtr(desc);
                     return TypeDesc::resized(lb, extent, desc);
                   });
}
