// JoinedCopies: copies between layouts that are alike and lie side by side, as columns of a matrix
// that are put one by one, made as one: each line of memory is then met once, not once a column.
#ifndef DATATYPE_PATH_CURSOR_JOINED_COPIES_H_
#define DATATYPE_PATH_CURSOR_JOINED_COPIES_H_

#include <cstdint>

#include "datatype_path/cursor/cursor.h"
#include "datatype_path/cursor/grid_loops.h"

namespace mad {

class JoinedCopies {
 public:
  /// Takes the copy of `bytes` from one layout to another, given by their loops from their begin
  /// on, if short runs and loops in common are all that there is; what was taken before and does
  /// not join is made now.  Not taken: it is the caller's.  Memory that is read is to stay as it is
  /// until finish(); of memory that is written twice it is not said by which copy.
  bool add(const RunLoops& from, const RunLoops& to, std::uint64_t bytes);

  /// Makes the copies that were taken.
  void finish();

 private:
  bool joins(const GridLoops& next) const;

  GridLoops first_;
  // From one copy to the next.
  std::int64_t from_step_ = 0;
  std::int64_t to_step_ = 0;
  std::uint64_t copies_ = 0;
};

}  // namespace mad

#endif  // DATATYPE_PATH_CURSOR_JOINED_COPIES_H_
