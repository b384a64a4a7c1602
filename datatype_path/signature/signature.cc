#include "datatype_path/signature/signature.h"

namespace mad {
namespace {

constexpr std::uint64_t kPrime = (std::uint64_t{1} << 61) - 1;
constexpr std::uint64_t kX = 0x1b3f5c8d2e67a905;
static_assert(kX < kPrime);

std::uint64_t reduced(std::uint64_t a) {
  a = (a & kPrime) + (a >> 61);
  return a >= kPrime ? a - kPrime : a;
}

std::uint64_t add(std::uint64_t a, std::uint64_t b) { return reduced(a + b); }

// 2^61 is 1: the product's upper bits are added to the lower.
std::uint64_t multiply(std::uint64_t a, std::uint64_t b) {
  __extension__ using Wide = unsigned __int128;
  const Wide product = static_cast<Wide>(a) * b;
  return add(static_cast<std::uint64_t>(product) & kPrime,
             static_cast<std::uint64_t>(product >> 61));
}

// What a sequence does to the hash of what stands before it: hash -> hash * factor + term.
struct Step {
  std::uint64_t factor = 1;
  std::uint64_t term = 0;

  Step then(const Step& next) const {
    return {multiply(factor, next.factor), add(multiply(term, next.factor), next.term)};
  }
};

Step repeated(Step step, std::uint64_t n) {
  Step out;
  for (; n > 0; n >>= 1) {
    if ((n & 1) != 0) out = out.then(step);
    step = step.then(step);
  }
  return out;
}

// x to the power of n.
std::uint64_t factor_of(std::uint64_t n) { return repeated({kX, 0}, n).factor; }

std::uint64_t code(BasicType type) {
  std::uint64_t z = (static_cast<std::uint64_t>(type) + 1) * 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  z ^= z >> 31;
  return 1 + z % (kPrime - 1);
}

}  // namespace

Signature signature_of(BasicType type) {
  return {type == BasicType::kPacked ? Signature::kMatchesAll : code(type), 1};
}

Signature compose(const Signature& a, const Signature& b) {
  Signature out;
  out.elements = a.elements + b.elements;
  if (a.hash == Signature::kMatchesAll || b.hash == Signature::kMatchesAll) {
    out.hash = Signature::kMatchesAll;
  } else {
    out.hash = add(multiply(a.hash, factor_of(b.elements)), b.hash);
  }
  return out;
}

Signature power(const Signature& a, std::uint64_t n) {
  if (n == 0) return {};
  if (a.hash == Signature::kMatchesAll) return {a.hash, a.elements * n};
  return {repeated({factor_of(a.elements), a.hash}, n).term, a.elements * n};
}

bool matches(const Signature& a, const Signature& b) {
  return a.hash == Signature::kMatchesAll || b.hash == Signature::kMatchesAll || a == b;
}

}  // namespace mad
