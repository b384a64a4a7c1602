// routes_between: by which fabrics one engine tries to reach another.
#ifndef NETMOD_ABI_ROUTES_H_
#define NETMOD_ABI_ROUTES_H_

#include <vector>

#include "madlike/message/messenger.h"
#include "netmod/abi/address.h"

namespace mad {

/// The fabrics that both engines have, but those that never leave a host where they are on two, in
/// the order in which they are to be tried; Route::driver counts those of `own`.  If the two do not
/// prefer the same, one of them decides: both find the same order, so that they choose the same
/// fabric when they connect to each other at once.  `beyond_host` says which of `own` may reach
/// other hosts.
std::vector<Route> routes_between(const EngineAddress& own, const std::vector<bool>& beyond_host,
                                  const EngineAddress& peer);

}  // namespace mad

#endif  // NETMOD_ABI_ROUTES_H_
