// What the loops of a program say of one another, checked; what follows from them, computed.
#ifndef DATATYPE_PATH_SERIAL_COMPLETE_TABLES_H_
#define DATATYPE_PATH_SERIAL_COMPLETE_TABLES_H_

#include "datatype_path/program/block_program.h"
#include "madlike/base/status.h"

namespace mad {

/// Computes the shape and the true bounds.  kProtocol, with the reason, if there is no such
/// program.
///
/// To be given: lb, the shape's extent, and nodes each of which is right for itself.  All is set
/// but how it is copied; body_bytes > 0 is the sum of the parts; count * body_bytes fits 63 bits;
/// children are numbers of nodes, and null if and only if height is 1.
Status complete_tables(BlockProgram::Tables& tables);

}  // namespace mad

#endif  // DATATYPE_PATH_SERIAL_COMPLETE_TABLES_H_
