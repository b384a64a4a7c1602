#include "perf/micro/hand_loops.h"

#include <cstddef>
#include <cstring>

// Nothing of the standard library but memcpy: what this file instantiates, the linker may choose
// for files that are compiled for any processor.
namespace micro {
namespace {

enum class Way { kPack, kUnpack };

template <Way kWay, typename T>
inline void move(T* __restrict packed, T* __restrict user) {
  if constexpr (kWay == Way::kPack) {
    *packed = *user;
  } else {
    *user = *packed;
  }
}

template <Way kWay, typename T>
inline void row(T* __restrict packed, T* __restrict user, std::int64_t elements) {
  for (std::int64_t e = 0; e < elements; ++e) move<kWay>(packed + e, user + e);
}

// A member of a structure; the packed stream is not aligned.
template <Way kWay>
inline char* field(char* __restrict packed, void* __restrict member, std::size_t bytes) {
  if constexpr (kWay == Way::kPack) {
    std::memcpy(packed, member, bytes);
  } else {
    std::memcpy(member, packed, bytes);
  }
  return packed + bytes;
}

template <Way kWay, typename T>
void run(void* packed, void* user, const LoopArguments& a) {
  row<kWay>(static_cast<T*>(packed), static_cast<T*>(user), a.counts[0]);
}

template <Way kWay, typename T>
void grid1(void* packed, void* user, const LoopArguments& a) {
  T* __restrict out = static_cast<T*>(packed);
  T* __restrict in = static_cast<T*>(user) + a.first;
  const std::int64_t n = a.counts[0], stride = a.strides[0];
  for (std::int64_t i = 0; i < n; ++i) move<kWay>(out + i, in + i * stride);
}

template <Way kWay, typename T>
void grid2(void* packed, void* user, const LoopArguments& a) {
  T* __restrict out = static_cast<T*>(packed);
  T* __restrict in = static_cast<T*>(user) + a.first;
  const std::int64_t n0 = a.counts[0], n1 = a.counts[1], s0 = a.strides[0], s1 = a.strides[1];
  for (std::int64_t i = 0; i < n0; ++i) {
    for (std::int64_t j = 0; j < n1; ++j) move<kWay>(out + i * n1 + j, in + i * s0 + j * s1);
  }
}

template <Way kWay, typename T>
void grid3(void* packed, void* user, const LoopArguments& a) {
  T* __restrict out = static_cast<T*>(packed);
  T* __restrict in = static_cast<T*>(user) + a.first;
  const std::int64_t n0 = a.counts[0], n1 = a.counts[1], n2 = a.counts[2];
  const std::int64_t s0 = a.strides[0], s1 = a.strides[1], s2 = a.strides[2];
  for (std::int64_t i = 0; i < n0; ++i) {
    for (std::int64_t j = 0; j < n1; ++j) {
      for (std::int64_t k = 0; k < n2; ++k) move<kWay>(out++, in + i * s0 + j * s1 + k * s2);
    }
  }
}

template <Way kWay, typename T>
void rows1(void* packed, void* user, const LoopArguments& a) {
  T* out = static_cast<T*>(packed);
  T* in = static_cast<T*>(user) + a.first;
  const std::int64_t n = a.counts[0], length = a.counts[1], stride = a.strides[0];
  for (std::int64_t i = 0; i < n; ++i) row<kWay>(out + i * length, in + i * stride, length);
}

template <Way kWay, typename T>
void rows2(void* packed, void* user, const LoopArguments& a) {
  T* out = static_cast<T*>(packed);
  T* in = static_cast<T*>(user) + a.first;
  const std::int64_t n0 = a.counts[0], n1 = a.counts[1], length = a.counts[2];
  const std::int64_t s0 = a.strides[0], s1 = a.strides[1];
  for (std::int64_t i = 0; i < n0; ++i) {
    for (std::int64_t j = 0; j < n1; ++j, out += length) {
      row<kWay>(out, in + i * s0 + j * s1, length);
    }
  }
}

template <Way kWay, typename T>
void rows3(void* packed, void* user, const LoopArguments& a) {
  T* out = static_cast<T*>(packed);
  T* in = static_cast<T*>(user) + a.first;
  const std::int64_t n0 = a.counts[0], n1 = a.counts[1], n2 = a.counts[2], length = a.counts[3];
  const std::int64_t s0 = a.strides[0], s1 = a.strides[1], s2 = a.strides[2];
  for (std::int64_t i = 0; i < n0; ++i) {
    for (std::int64_t j = 0; j < n1; ++j) {
      for (std::int64_t k = 0; k < n2; ++k, out += length) {
        row<kWay>(out, in + i * s0 + j * s1 + k * s2, length);
      }
    }
  }
}

// Nine nested loops as one would write them, of which the compiler sees every one.
template <Way kWay, typename T, int kLevel>
inline T* nest(T* __restrict packed, T* __restrict user, const std::int64_t* counts,
               const std::int64_t* strides) {
  const std::int64_t n = *counts, stride = *strides;
  for (std::int64_t i = 0; i < n; ++i) {
    if constexpr (kLevel == 1) {
      move<kWay>(packed++, user + i * stride);
    } else {
      packed = nest<kWay, T, kLevel - 1>(packed, user + i * stride, counts + 1, strides + 1);
    }
  }
  return packed;
}

template <Way kWay, typename T>
void grid9(void* packed, void* user, const LoopArguments& arguments) {
  const LoopArguments a = arguments;  // its own: no store through a pointer changes it
  nest<kWay, T, 9>(static_cast<T*>(packed), static_cast<T*>(user) + a.first, a.counts, a.strides);
}

template <Way kWay, typename T>
void list(void* packed, void* user, const LoopArguments& a) {
  T* __restrict out = static_cast<T*>(packed);
  T* __restrict in = static_cast<T*>(user);
  const int* __restrict places = a.places;
  const std::int64_t n = a.counts[0];
  for (std::int64_t i = 0; i < n; ++i) move<kWay>(out + i, in + places[i]);
}

template <Way kWay, typename T>
void blocks(void* packed, void* user, const LoopArguments& a) {
  T* out = static_cast<T*>(packed);
  T* in = static_cast<T*>(user);
  const int* __restrict places = a.places;
  const int* __restrict lengths = a.lengths;
  const std::int64_t n = a.counts[0];
  for (std::int64_t i = 0; i < n; ++i) {
    row<kWay>(out, in + places[i], lengths[i]);
    out += lengths[i];
  }
}

template <Way kWay>
void gapped_particles(void* packed, void* user, const LoopArguments& a) {
  char* out = static_cast<char*>(packed);
  auto* particles = static_cast<GappedParticle*>(user);
  const std::int64_t n = a.counts[0];
  for (std::int64_t i = 0; i < n; ++i) {
    out = field<kWay>(out, &particles[i].x, 2 * sizeof(float));
    out = field<kWay>(out, &particles[i].c, sizeof(int));
    out = field<kWay>(out, &particles[i].z, sizeof(float));
  }
}

template <Way kWay>
void padded(void* packed, void* user, const LoopArguments& a) {
  char* out = static_cast<char*>(packed);
  auto* all = static_cast<Padded*>(user);
  const std::int64_t n = a.counts[0];
  for (std::int64_t i = 0; i < n; ++i) {
    out = field<kWay>(out, &all[i].kind, sizeof(char));
    out = field<kWay>(out, &all[i].id, sizeof(int));
    out = field<kWay>(out, &all[i].value, sizeof(double));
    out = field<kWay>(out, &all[i].link, sizeof(int));
  }
}

template <Way kWay>
void four_arrays(void* packed, void* user, const LoopArguments& a) {
  char* out = static_cast<char*>(packed);
  char* in = static_cast<char*>(user);
  const std::int64_t n = a.counts[0];
  row<kWay>(reinterpret_cast<double*>(out), reinterpret_cast<double*>(in + a.strides[0]), n);
  out += n * sizeof(double);
  row<kWay>(reinterpret_cast<double*>(out), reinterpret_cast<double*>(in + a.strides[1]), n);
  out += n * sizeof(double);
  row<kWay>(reinterpret_cast<float*>(out), reinterpret_cast<float*>(in + a.strides[2]), n);
  out += n * sizeof(float);
  row<kWay>(reinterpret_cast<int*>(out), reinterpret_cast<int*>(in + a.strides[3]), n);
}

template <Way kWay>
void fields(void* packed, void* user, const LoopArguments& a) {
  auto* out = static_cast<float*>(packed);
  const std::int64_t n0 = a.counts[1], n1 = a.counts[2], length = a.counts[3];
  const std::int64_t s0 = a.strides[1], s1 = a.strides[2];
  for (std::int64_t f = 0; f < a.counts[0]; ++f) {
    float* in = static_cast<float*>(user) + a.places[f] + a.first;
    for (std::int64_t i = 0; i < n0; ++i) {
      for (std::int64_t j = 0; j < n1; ++j, out += length) {
        row<kWay>(out, in + i * s0 + j * s1, length);
      }
    }
  }
}

template <Way kWay>
void byte_of_each_line(void* packed, void* user, const LoopArguments& a) {
  constexpr std::int64_t kLine = 64;
  auto* __restrict out = static_cast<unsigned char*>(packed);
  auto* __restrict in = static_cast<unsigned char*>(user);
  const std::int64_t columns = a.counts[0], lines = a.counts[1];
  for (std::int64_t c = 0; c < columns; ++c) {
    for (std::int64_t i = 0; i < lines; ++i) move<kWay>(out + c * lines + i, in + i * kLine + c);
  }
}

}  // namespace

const Loop kRunOfBytes = {run<Way::kPack, char>, run<Way::kUnpack, char>};
const Loop kRunOfDoubles = {run<Way::kPack, double>, run<Way::kUnpack, double>};
const Loop kRunOfParticles = {run<Way::kPack, Particle>, run<Way::kUnpack, Particle>};
const Loop kGrid1Double = {grid1<Way::kPack, double>, grid1<Way::kUnpack, double>};
const Loop kGrid2Double = {grid2<Way::kPack, double>, grid2<Way::kUnpack, double>};
const Loop kGrid2Byte = {grid2<Way::kPack, unsigned char>, grid2<Way::kUnpack, unsigned char>};
const Loop kGrid3Su3 = {grid3<Way::kPack, Su3Vector>, grid3<Way::kUnpack, Su3Vector>};
const Loop kRows1Float = {rows1<Way::kPack, float>, rows1<Way::kUnpack, float>};
const Loop kRows1Double = {rows1<Way::kPack, double>, rows1<Way::kUnpack, double>};
const Loop kRows2Double = {rows2<Way::kPack, double>, rows2<Way::kUnpack, double>};
const Loop kRows2Vec24 = {rows2<Way::kPack, Vec24>, rows2<Way::kUnpack, Vec24>};
const Loop kRows3Double = {rows3<Way::kPack, double>, rows3<Way::kUnpack, double>};
const Loop kGrid9Float = {grid9<Way::kPack, float>, grid9<Way::kUnpack, float>};
const Loop kListDouble = {list<Way::kPack, double>, list<Way::kUnpack, double>};
const Loop kListVec12 = {list<Way::kPack, Vec12>, list<Way::kUnpack, Vec12>};
const Loop kListVec24 = {list<Way::kPack, Vec24>, list<Way::kUnpack, Vec24>};
const Loop kBlocksFloat = {blocks<Way::kPack, float>, blocks<Way::kUnpack, float>};
const Loop kBlocksDouble = {blocks<Way::kPack, double>, blocks<Way::kUnpack, double>};
const Loop kGappedParticles = {gapped_particles<Way::kPack>, gapped_particles<Way::kUnpack>};
const Loop kPadded = {padded<Way::kPack>, padded<Way::kUnpack>};
const Loop kFourArrays = {four_arrays<Way::kPack>, four_arrays<Way::kUnpack>};
const Loop kFields = {fields<Way::kPack>, fields<Way::kUnpack>};
const Loop kByteOfEachLine = {byte_of_each_line<Way::kPack>, byte_of_each_line<Way::kUnpack>};

}  // namespace micro
