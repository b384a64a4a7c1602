// The loops that a program would have in place of a datatype, one pair for each kind of layout.
//
// They take counts, strides and lists at run time and know the element's C type, as a program's own
// code does.  They are compiled in one translation unit of their own, -O3 -march=native, and called
// through pointers, so that the compiler sees no argument.  Strides and places are elements of the
// loop's type unless a loop says bytes.
#ifndef PERF_MICRO_HAND_LOOPS_H_
#define PERF_MICRO_HAND_LOOPS_H_

#include <cstdint>

namespace micro {

struct LoopArguments {
  std::int64_t first = 0;  // place of the first element
  std::int64_t counts[9] = {};
  std::int64_t strides[9] = {};
  const int* places = nullptr;  // counts[0] of them
  const int* lengths = nullptr;
};

/// From `user` to `packed`, or back.
using LoopFunction = void (*)(void* packed, void* user, const LoopArguments& arguments);
struct Loop {
  LoopFunction pack;
  LoopFunction unpack;
};

struct Vec12 {
  float of[3];
};
struct Vec24 {
  double of[3];
};
/// A colour vector of lattice QCD: three complex numbers.
struct Su3Vector {
  double of[6];
};
/// RT-0306's particle (its appendix B.3), and one with members that do not travel.
struct Particle {
  float x, y;
  int c;
  float z;
};
struct GappedParticle {
  float x, y, unused_xy[2];
  int c, unused_c;
  float z, unused_z;
};
/// 17 bytes of 32 travel.
struct Padded {
  char kind;
  int id;
  double value;
  double scratch;  // does not travel
  int link;
};

// Elements that touch: counts[0].
extern const Loop kRunOfBytes, kRunOfDoubles, kRunOfParticles;
// Loops of one element each: over counts[0], counts[1], ... at strides[0], strides[1], ...
extern const Loop kGrid1Double, kGrid2Double, kGrid2Byte, kGrid3Su3;
// The same around rows: the count after the last stride's is the elements of a row, which touch.
extern const Loop kRows1Float, kRows1Double, kRows2Double, kRows2Vec24, kRows3Double;
// Nine loops of one element each.
extern const Loop kGrid9Float;
// counts[0] elements at places[]; blocks of lengths[] elements.
extern const Loop kListDouble, kListVec12, kListVec24, kBlocksFloat, kBlocksDouble;
// counts[0] structures.
extern const Loop kGappedParticles, kPadded;
// Arrays x, y (double), z (float) and id (int) of counts[0] elements at strides[0..3] bytes.
extern const Loop kFourArrays;
// counts[0] arrays of floats at places[], of each kRows2 with the counts and strides from [1] on.
extern const Loop kFields;
// One byte of each cache line, counts[0] columns of counts[1] lines: strides known to the compiler.
extern const Loop kByteOfEachLine;

}  // namespace micro

#endif  // PERF_MICRO_HAND_LOOPS_H_
