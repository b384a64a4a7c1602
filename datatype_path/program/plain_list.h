// Lists that are compiled as they are: what most programs describe that make a datatype for one
// message (ADR 76).
#ifndef DATATYPE_PATH_PROGRAM_PLAIN_LIST_H_
#define DATATYPE_PATH_PROGRAM_PLAIN_LIST_H_

#include <optional>

#include "datatype_path/describe/type_desc.h"
#include "datatype_path/program/block_program.h"

namespace mad {

/// The tables of a type that is a list of runs, one for each block, none of which is empty, which
/// the compiler's passes (loop_builder.h) would leave as it is; none: the type is another, or they
/// join some of its runs.  Throws std::bad_alloc.
std::optional<BlockProgram::Tables> plain_list(const TypeDesc& type);

}  // namespace mad

#endif  // DATATYPE_PATH_PROGRAM_PLAIN_LIST_H_
