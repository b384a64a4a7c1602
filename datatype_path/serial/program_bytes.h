// A BlockProgram as bytes for another process, and back: docs/program_format.md has the form.
//
// The bytes may come from anyone.  deserialize() checks all of them before it makes a program; what
// it refuses it names, what it accepts runs within the program's true bounds and nowhere else.
// Those bounds are computed, not read: compare them with your memory before you execute a foreign
// program.
#ifndef DATATYPE_PATH_SERIAL_PROGRAM_BYTES_H_
#define DATATYPE_PATH_SERIAL_PROGRAM_BYTES_H_

#include <cstddef>
#include <memory>

#include "datatype_path/program/block_program.h"
#include "madlike/base/status.h"

namespace mad {

/// The bytes that serialize() writes.  Takes as long as writing them.
std::size_t serialized_size(const BlockProgram& program);

/// Writes the form and returns its bytes; writes nothing and says how many are needed if there are
/// more than `capacity`.
Result<std::size_t> serialize(const BlockProgram& program, void* out, std::size_t capacity);

/// The program in these bytes, all of them; kVersion or kProtocol if they are none.  Allocates at
/// most 512 bytes (the program, and what checking takes) for each byte given, whatever they say.
Result<std::shared_ptr<const BlockProgram>> deserialize(
    const void* bytes, std::size_t size, const KernelTable& kernels = best_kernels());

}  // namespace mad

#endif  // DATATYPE_PATH_SERIAL_PROGRAM_BYTES_H_
