// copy(): bytes from one layout straight into another, without the packed stream between them.
//
// The two have a packed stream in common, of which any part may be copied: what seek() and pack()
// are to one layout, seek() of both and copy() are to two.
#ifndef DATATYPE_PATH_CURSOR_COPY_H_
#define DATATYPE_PATH_CURSOR_COPY_H_

#include <cstddef>

#include "datatype_path/cursor/cursor.h"

namespace mad {

/// Copies the next bytes of `from`'s layout to the next places of `to`'s, `size` of them or what
/// the one that has less has left; advances both and returns the bytes.
///
/// The memory that is read and the memory that is written must not overlap, nor any two places that
/// are written: what then stands there is not said.  That is the caller's to see to, as with
/// memcpy. Nothing is allocated.
std::size_t copy(Cursor& from, Cursor& to, std::size_t size);

}  // namespace mad

#endif  // DATATYPE_PATH_CURSOR_COPY_H_
