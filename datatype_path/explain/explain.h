// A datatype for a person to read: description -> program -> shape, as text; or in one line.
//
// Whatever the type, a text stays below 64 KiB: long lists, many loops and deep trees are cut,
// and the text says where.
#ifndef DATATYPE_PATH_EXPLAIN_EXPLAIN_H_
#define DATATYPE_PATH_EXPLAIN_EXPLAIN_H_

#include <string>

#include "datatype_path/describe/type_desc.h"
#include "datatype_path/program/block_program.h"
#include "datatype_path/program/shape.h"

namespace mad {

/// The tree, a node a line, children indented below.  Nodes are numbered; one that is used again is
/// named by its number.
std::string explain(const TypeDesc& type);

/// Sizes, extent and the histogram of run lengths.
std::string explain(const Shape& shape);

/// The tree, the program that it was compiled to (as its to_string() has it) and the shape.
std::string explain(const TypeDesc& type, const BlockProgram& program);

/// The type in one line of at most 100 characters, such as "vector(16384 x 64 byte, stride 128)":
/// as much as fits, in a time that does not grow with the type.
std::string brief(const TypeDesc& type);

}  // namespace mad

#endif  // DATATYPE_PATH_EXPLAIN_EXPLAIN_H_
