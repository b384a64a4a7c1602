// Signature: the hash of a type signature in MPI's sense, the sequence of basic types.
//
// Layout does not enter, nor how the sequence is split into count and type.  Two values compare the
// sequences of a sender and a receiver; they compose, so that the sequence is never written out.
//
// Definition, the same in every process (all arithmetic modulo the prime p = 2^61 - 1):
//   hash(empty) = 0,  hash(s t) = hash(s) * x + code(t) for a sequence s followed by one element t,
//   x = 0x1b3f5c8d2e67a905, which generates all numbers 1 .. p - 1,
//   code(t) = 1 + (mix(BasicType's number of t) mod (p - 1)), never 0, where
//   mix(n) is the finaliser of splitmix64:  z = (n + 1) * 0x9e3779b97f4a7c15,
//     z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9,  z = (z ^ z >> 27) * 0x94d049bb133111eb,  z ^ z >> 31
//     (modulo 2^64).
// With equal lengths n two different sequences collide for at most n - 1 of the p possible x: the
// chance is below n / 2^61 for an x that knows nothing of the sequences, 5e-13 for a million
// elements.  x is fixed, so sequences could be made to collide on purpose: this is a check against
// mistakes, not against malice.
//
// MPI_PACKED matches everything: the hash of a sequence with a packed byte is kMatchesAll, and so
// is that of all it is part of.  MPI_BYTE matches only itself, one element a byte.
#ifndef DATATYPE_PATH_SIGNATURE_SIGNATURE_H_
#define DATATYPE_PATH_SIGNATURE_SIGNATURE_H_

#include <cstdint>

#include "datatype_path/describe/basic_type.h"

namespace mad {

struct Signature {
  static constexpr std::uint64_t kMatchesAll = UINT64_MAX;

  std::uint64_t hash = 0;      // below 2^61 - 1, or kMatchesAll
  std::uint64_t elements = 0;  // length of the sequence

  bool operator==(const Signature& o) const { return hash == o.hash && elements == o.elements; }
  bool operator!=(const Signature& o) const { return !(*this == o); }
};

/// Of one element.
Signature signature_of(BasicType type);
/// Of a's sequence followed by b's; O(log b.elements).
Signature compose(const Signature& a, const Signature& b);
/// Of `n` times a's sequence; O(log n + log a.elements).
Signature power(const Signature& a, std::uint64_t n);
/// Whether data of signature `a` may be received as `b`: the same sequence, or a packed byte in
/// one.  A receive that is longer than its message compares the prefix of the message's length.
bool matches(const Signature& a, const Signature& b);

}  // namespace mad

#endif  // DATATYPE_PATH_SIGNATURE_SIGNATURE_H_
