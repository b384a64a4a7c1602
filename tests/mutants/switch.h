// What a source with all its mutants needs to have one of them at a time; mutants.py puts it before
// each.
//
// MUTANT is the number of the mutant that is on; none where it is not set. MUTANTS_REACHED names a
// file with a byte for each mutant, which becomes 1 once a program got to where the mutant would
// be.
#ifndef TESTS_MUTANTS_SWITCH_H_
#define TESTS_MUTANTS_SWITCH_H_

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <type_traits>
#include <utility>

namespace mutants {

struct Switch {
  long chosen = -1;
  unsigned char* reached = nullptr;

  Switch() {
    const char* const number = std::getenv("MUTANT");
    if (number != nullptr) chosen = std::atol(number);
    const char* const name = std::getenv("MUTANTS_REACHED");
    const int file = name == nullptr ? -1 : open(name, O_RDWR | O_CLOEXEC);
    struct stat found = {};
    if (file < 0 || fstat(file, &found) != 0) return;
    void* const memory = mmap(nullptr, static_cast<std::size_t>(found.st_size),
                              PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (memory != MAP_FAILED) reached = static_cast<unsigned char*>(memory);
    close(file);
  }
};

inline bool look(int number) {
  static const Switch the_switch;
  if (the_switch.reached != nullptr) the_switch.reached[number] = 1;
  return number == the_switch.chosen;
}

constexpr bool on(int number) { return !__builtin_is_constant_evaluated() && look(number); }

// A mutant that would not compile where it stands.
[[noreturn]] inline void impossible() {
  constexpr char kText[] = "MUTANT: does not compile\n";
  if (write(STDERR_FILENO, kText, sizeof(kText) - 1) < 0) _exit(78);
  _exit(77);
}

template <typename T>
constexpr auto four_times(int number, T limit) {
  if constexpr (std::is_arithmetic_v<T>) {
    return on(number) ? 4 * limit : 1 * limit;
  } else {
    if (on(number)) impossible();
    return limit;
  }
}

struct One {
  int number;
};
struct Two {
  int number;
  int other;
};
struct Less : One {};
struct LessEqual : One {};
struct Greater : One {};
struct GreaterEqual : One {};
struct Equal : Two {};
struct Unequal : Two {};

template <typename A, typename Kind>
struct Half {
  const A& a;
  Kind kind;
};

#define MUTANTS_HALF(OPERATOR, KIND)                                 \
  template <typename A>                                              \
  constexpr Half<A, KIND> operator OPERATOR(const A& a, KIND kind) { \
    return {a, kind};                                                \
  }
MUTANTS_HALF(<, Less)
MUTANTS_HALF(<=, LessEqual)
MUTANTS_HALF(>, Greater)
MUTANTS_HALF(>=, GreaterEqual)
MUTANTS_HALF(==, Equal)
MUTANTS_HALF(!=, Unequal)
#undef MUTANTS_HALF

template <typename A, typename B, typename = void>
struct Ordered : std::false_type {};
template <typename A, typename B>
struct Ordered<A, B, std::void_t<decltype(std::declval<const A&>() <= std::declval<const B&>())>>
    : std::true_type {};

#define MUTANTS_WHOLE(KIND, OPERATOR, BECOMES)                          \
  template <typename A, typename B>                                     \
  constexpr bool operator>(Half<A, KIND> half, const B& b) {            \
    return on(half.kind.number) ? half.a BECOMES b : half.a OPERATOR b; \
  }
MUTANTS_WHOLE(Less, <, <=)
MUTANTS_WHOLE(LessEqual, <=, <)
MUTANTS_WHOLE(Greater, >, >=)
MUTANTS_WHOLE(GreaterEqual, >=, >)
#undef MUTANTS_WHOLE

#define MUTANTS_WHOLE(KIND, OPERATOR, BECOMES, OR)            \
  template <typename A, typename B>                           \
  constexpr bool operator==(Half<A, KIND> half, const B& b) { \
    const bool one = on(half.kind.number);                    \
    const bool other = on(half.kind.other);                   \
    if constexpr (Ordered<A, B>::value) {                     \
      if (one) return half.a BECOMES b;                       \
      if (other) return half.a OR b;                          \
    } else {                                                  \
      if (one || other) impossible();                         \
    }                                                         \
    return half.a OPERATOR b;                                 \
  }
MUTANTS_WHOLE(Equal, ==, <=, >=)
MUTANTS_WHOLE(Unequal, !=, <, >)
#undef MUTANTS_WHOLE

}  // namespace mutants

#endif  // TESTS_MUTANTS_SWITCH_H_
