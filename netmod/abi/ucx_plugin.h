// What libmad and libmad_ucx.so agree on.
//
// The ucx driver is a library of its own, loaded when its fabric is asked for: loading UCX costs
// milliseconds and installs signal handlers, and a machine may not have it.  Both libraries are
// built and installed together and pass C++ objects to each other, so that each compares the
// other's identity with its own first.
#ifndef NETMOD_ABI_UCX_PLUGIN_H_
#define NETMOD_ABI_UCX_PLUGIN_H_

#include <memory>
#include <optional>
#include <string>

#include "madlike/base/status.h"
#include "madlike/driver/driver.h"
#include "madlike/driver/ucx/ucx.h"

namespace mad {

inline constexpr const char* kUcxLibrary = "libmad_ucx.so";
/// A digest of the headers above, as whoever asks was compiled with them.
const char* driver_headers_digest();

using UcxOpened = std::optional<Result<std::unique_ptr<Driver>>>;
/// Writes the driver, or why there is none.
using OpenUcx = void (*)(const UcxOptions& options, UcxOpened* out);
using UcxIdentity = const char* (*)();

/// Loads the library `path` and opens the fabric.  kNotFound: no such library, one of another
/// build, or what open_ucx() says.
Result<std::unique_ptr<Driver>> open_ucx_plugin(const UcxOptions& options, const std::string& path);
/// The library beside the one (or program) that this code is in, else wherever the system finds it.
Result<std::unique_ptr<Driver>> open_ucx_plugin(const UcxOptions& options);

}  // namespace mad

#endif  // NETMOD_ABI_UCX_PLUGIN_H_
