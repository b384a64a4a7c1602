#include "perf/micro/layouts.h"

namespace micro {

const std::vector<LayoutKind>& layout_kinds() {
  static const std::vector<LayoutKind> kinds = [] {
    std::vector<LayoutKind> all;
    for (const auto& part :
         {regular_kinds(), array_kinds(), irregular_kinds(), adversarial_kinds()}) {
      all.insert(all.end(), part.begin(), part.end());
    }
    return all;
  }();
  return kinds;
}

}  // namespace micro
