// What MPICH's processes tell each other at the start (netmod/mpich/mad_address.c), by name.
#ifndef PERF_MODEX_NAMES_H_
#define PERF_MODEX_NAMES_H_

#include <cstdint>

#include "netmod/modex/modex.h"

namespace mad {

/// Characters that hydra of MPICH 4.0 takes.
inline constexpr std::size_t kHydrasValueLength = 672;
/// Where a process id stands in an address in shared memory, see docs/shm_protocol.md.
inline constexpr std::size_t kProcessIdPlace = 4;

struct StartUpNames {
  std::uint32_t card = 0, fabrics = 0, host = 0;

  static StartUpNames of(Modex* modex) {
    return {*modex->add_name("mad.card"), *modex->add_name("mad.fabrics"),
            *modex->add_name("mad.host")};
  }
};

}  // namespace mad

#endif  // PERF_MODEX_NAMES_H_
