// libmad_ucx.so: the ucx driver for libmad to load.
#include "netmod/abi/ucx_plugin.h"

extern "C" const char* mad_ucx_identity(void) { return mad::driver_headers_digest(); }

extern "C" void mad_ucx_open(const mad::UcxOptions& options, mad::UcxOpened* out) {
  out->emplace(mad::open_ucx(options));
}
