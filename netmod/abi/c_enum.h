// c_value(): the number in an enum that a C caller gave.
//
// In C an enum may hold any number; in C++ reading one that is none of its values is undefined.  So
// it is looked at as a number first, by reference all the way.
#ifndef NETMOD_ABI_C_ENUM_H_
#define NETMOD_ABI_C_ENUM_H_

#include <cstring>

namespace mad {

template <typename Enum>
int c_value(const Enum& value) {
  static_assert(sizeof(Enum) == sizeof(int));
  int number = 0;
  std::memcpy(&number, &value, sizeof(number));
  return number;
}

}  // namespace mad

#endif  // NETMOD_ABI_C_ENUM_H_
