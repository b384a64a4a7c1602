// What libfabric offers by the name of a provider: connected endpoints, or one for reliable
// datagrams.
#ifndef MADLIKE_DRIVER_OFI_PROVIDER_H_
#define MADLIKE_DRIVER_OFI_PROVIDER_H_

#include <string>

#include "madlike/base/status.h"
#include "madlike/driver/libfabric/fid.h"
#include "madlike/driver/ofi/ofi.h"

namespace mad {

/// Sets what libfabric reads once, when it starts: to be called before anything else of it.
void prepare_libfabric();

/// The provider's name as libfabric has it: what separates its layers, a user writes as '+', as
/// ';' is between the fabrics of a list.
std::string libfabric_name(std::string provider);

/// An offer that a driver can use.  kNotFound: there is none, or no such interface.
Result<InfoPtr> find_connected(const OfiOptions& options);
/// The same; to be asked second, so that the sentence lists the providers of either kind.
Result<InfoPtr> find_datagrams(const OfiOptions& options);

}  // namespace mad

#endif  // MADLIKE_DRIVER_OFI_PROVIDER_H_
