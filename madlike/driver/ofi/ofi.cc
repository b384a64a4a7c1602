#include "madlike/driver/ofi/ofi.h"

#include <exception>
#include <string>
#include <utility>

#include "madlike/driver/ofi/driver.h"
#include "madlike/driver/ofi/rdm_driver.h"

namespace mad {
namespace {

Result<std::unique_ptr<Driver>> open_any(const OfiOptions& options) {
  Result<std::unique_ptr<OfiFabric>> fabric = OfiFabric::open(options);
  if (fabric.ok()) {
    return std::unique_ptr<Driver>(std::make_unique<OfiDriver>(options, std::move(*fabric)));
  }
  if (fabric.status().code() != StatusCode::kNotFound) return fabric.status();
  return RdmDriver::open(options);
}

}  // namespace

Result<std::unique_ptr<Driver>> open_ofi(const OfiOptions& options) {
  if (options.receive_buffers == 0 || options.max_packet_bytes < 256) {
    return Status(StatusCode::kInvalidArgument, "ofi: too few or too small receive buffers");
  }
  try {
    return open_any(options);
  } catch (const std::exception& error) {
    return Status(StatusCode::kNoMemory, std::string("opening ofi: ") + error.what());
  }
}

}  // namespace mad
