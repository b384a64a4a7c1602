// What is left of connections between two engines of one process that have ended on one side.
//
// libfabric maps no memory twice in a process (smr_map_to_region()): an endpoint that is closed
// takes its memory from the other side, which may still be receiving what was sent before the end.
// So the first to end leaves its endpoint here, and the second closes both.  The place is one for
// the process, as libfabric's list of names is.
#ifndef MADLIKE_DRIVER_OFI_SHM_REMAINS_H_
#define MADLIKE_DRIVER_OFI_SHM_REMAINS_H_

#include <cstdint>
#include <memory>

#include "madlike/driver/ofi_shm/endpoint.h"

namespace mad {

/// One side of the connection that the gate with this secret is of has ended.
void leave_to_the_other_side(std::uint64_t secret, std::unique_ptr<OfiShmEndpoint> endpoint);

}  // namespace mad

#endif  // MADLIKE_DRIVER_OFI_SHM_REMAINS_H_
