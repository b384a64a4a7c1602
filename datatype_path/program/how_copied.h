// What finish() chose for a loop, for a person to read.
#ifndef DATATYPE_PATH_PROGRAM_HOW_COPIED_H_
#define DATATYPE_PATH_PROGRAM_HOW_COPIED_H_

#include <string>

#include "datatype_path/program/block_program.h"

namespace mad {

/// How a loop is copied, in a few words: "in 3 steps, 64 trips at a time", "in 15 chunks of 64
/// runs", "in tiles of 8 trips by 32 rows".
std::string how_copied(const LoopNode& node);

}  // namespace mad

#endif  // DATATYPE_PATH_PROGRAM_HOW_COPIED_H_
