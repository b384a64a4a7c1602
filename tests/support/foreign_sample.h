// ForeignSample: one random typed layout with random values, in local memory and as the packed
// stream of another machine, both written by the oracle of foreign_data.h.
#ifndef TESTS_SUPPORT_FOREIGN_SAMPLE_H_
#define TESTS_SUPPORT_FOREIGN_SAMPLE_H_

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "datatype_path/convert/conversion_plan.h"
#include "tests/support/foreign_data.h"
#include "tests/support/random_type.h"
#include "tests/support/type_map.h"
#include "tests/support/typed_map.h"

namespace mad::test {

struct ForeignSample {
  enum class Direction { kUnpack, kPack };

  /// Values are those of the side that sends; with `misfits`, also ones that do not fit the other.
  ForeignSample(Direction direction, const Machine& other, bool misfits, RandomTypes& random)
      : made(random.next(options())),
        count(static_cast<std::uint64_t>(random.between(0, 3))),
        machine(other),
        map(expand_typed(*made.type, count)),
        memory(expand(*made.type, count), std::byte{0xa5}),
        plan(ConversionPlan::make(TypedProgram::build(made.type).value(), other.architecture)
                 .value()) {
    const Architecture here = Architecture::local();
    const bool unpack = direction == Direction::kUnpack;
    const Architecture& from = unpack ? other.architecture : here;
    const Architecture& to = unpack ? here : other.architecture;
    for (std::size_t i = 0; i < map.size(); ++i) {
      const BasicType type = map[i].type;
      const std::size_t narrow = std::min(from.size_of(type), to.size_of(type));
      const bool any = misfits && random.between(0, 3) == 0;
      const Value sent = random_value(type, from, any ? 0 : narrow, random);
      bool fits = true;
      const Value received = converted(sent, type, from, to, &fits);
      if (!fits) unfit.push_back(i);
      const Digits local = bytes_of(unpack ? received : sent, type, here);
      const Digits remote = bytes_of(unpack ? sent : received, type, other.architecture);
      for (std::size_t b = 0; b < local.size(); ++b) {
        memory[map[i].offset + static_cast<std::int64_t>(b)] = local[b];
      }
      starts.push_back(stream.size());
      stream.insert(stream.end(), remote.begin(), remote.end());
    }
  }

  static RandomTypeOptions options() {
    RandomTypeOptions out;
    out.typed = true;
    out.overlaps = false;
    return out;
  }
  std::string text() const {
    return std::to_string(count) + " x " + made.text + " and " + machine.name;
  }

  RandomType made;
  std::uint64_t count;
  Machine machine;
  TypedMap map;
  Arena memory;  // bytes between the elements are 0xa5
  std::shared_ptr<const ConversionPlan> plan;
  Digits stream;
  std::vector<std::uint64_t> starts;  // of each element in the stream
  std::vector<std::uint64_t> unfit;   // elements that do not fit the receiving side
};

}  // namespace mad::test

#endif  // TESTS_SUPPORT_FOREIGN_SAMPLE_H_
