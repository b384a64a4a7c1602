// NumberList: a list of numbers that does not change, in 32 bits each where it is long and all fit.
#ifndef DATATYPE_PATH_DESCRIBE_NUMBER_LIST_H_
#define DATATYPE_PATH_DESCRIBE_NUMBER_LIST_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <utility>
#include <vector>

namespace mad {

/// `T` is std::int64_t or std::uint64_t.
template <typename T>
class NumberList {
 public:
  using Narrow = std::conditional_t<std::is_signed_v<T>, std::int32_t, std::uint32_t>;
  /// Not worth other memory than they came in.
  static constexpr std::size_t kShort = 16;

  NumberList() = default;
  explicit NumberList(std::vector<T> numbers) {
    if (numbers.size() <= kShort || !all_fit(numbers)) {
      wide_ = std::move(numbers);
    } else {
      narrow_.assign(numbers.begin(), numbers.end());
    }
  }

  bool empty() const { return wide_.empty() && narrow_.empty(); }
  T operator[](std::size_t i) const { return narrow_.empty() ? wide_[i] : narrow_[i]; }
  /// Writes all numbers, each with `added`.
  void copy(T added, T* out) const {
    const auto sum = [added](T number) { return number + added; };
    std::transform(wide_.begin(), wide_.end(), out, sum);
    std::transform(narrow_.begin(), narrow_.end(), out, sum);
  }
  std::size_t memory_bytes() const {
    return wide_.capacity() * sizeof(T) + narrow_.capacity() * sizeof(Narrow);
  }

 private:
  // Without a way out, which compilers would not do several numbers at a time with.
  static bool all_fit(const std::vector<T>& numbers) {
    std::uint64_t beyond = 0;
    for (const T number : numbers) {
      beyond |= static_cast<std::uint64_t>(number) -
                static_cast<std::uint64_t>(std::int64_t{std::numeric_limits<Narrow>::min()});
    }
    return beyond >> 32U == 0;
  }

  std::vector<T> wide_;  // one of the two has them
  std::vector<Narrow> narrow_;
};

}  // namespace mad

#endif  // DATATYPE_PATH_DESCRIBE_NUMBER_LIST_H_
