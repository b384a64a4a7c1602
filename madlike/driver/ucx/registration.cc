#include "madlike/driver/ucx/registration.h"

#include "madlike/driver/ucx/manners.h"
#include "madlike/driver/ucx/status.h"

namespace mad {

Result<UcxRegistration> UcxRegistration::of(const UcxDomain& domain, Segment memory, For use) {
  const UcxComplaints complaints;  // whoever cannot register copies
  const unsigned flags = use == For::kReading
                             ? UCT_MD_MEM_ACCESS_LOCAL_READ
                             : UCT_MD_MEM_ACCESS_LOCAL_READ | UCT_MD_MEM_ACCESS_LOCAL_WRITE |
                                   UCT_MD_MEM_ACCESS_REMOTE_PUT;
  UcxRegistration registration;
  const ucs_status_t status =
      uct_md_mem_reg(domain.md(), memory.data, memory.size, flags, &registration.memory_);
  if (status != UCS_OK) return ucx_status(StatusCode::kNoMemory, "registering memory", status);
  registration.md_ = domain.md();
  return registration;
}

Result<std::uint64_t> UcxRegistration::key() const {
  std::uint64_t key = 0;
  const ucs_status_t status = uct_md_mkey_pack(md_, memory_, &key);
  if (status == UCS_OK) return key;
  return ucx_status(StatusCode::kInternal, "a key of registered memory", status);
}

Result<UcxPeerKey> UcxPeerKey::of(const UcxDomain& domain, std::uint64_t key) {
  UcxPeerKey unpacked;
  const ucs_status_t status = uct_rkey_unpack(domain.component(), &key, &unpacked.bundle_);
  if (status != UCS_OK) return ucx_status(StatusCode::kProtocol, "a peer's key", status);
  unpacked.component_ = domain.component();
  return unpacked;
}

}  // namespace mad
