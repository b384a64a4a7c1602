#include "madlike/driver/ofi/peer_addresses.h"

#include "madlike/driver/libfabric/status.h"

namespace mad {

Result<PeerAddresses::Entry*> PeerAddresses::add(const std::vector<std::byte>& name) {
  const auto [found, is_new] = entries_.try_emplace(name);
  Entry& entry = found->second;
  if (is_new) {
    const int count = fi_av_insert(&vector_, name.data(), 1, &entry.address, 0, nullptr);
    if (count != 1 || entry.address == FI_ADDR_NOTAVAIL) {
      entries_.erase(found);
      return ofi_status(StatusCode::kUnreachable, "the address of a peer", count < 0 ? count : 0);
    }
    entry.name = &found->first;
  }
  ++entry.uses;
  return &entry;
}

void PeerAddresses::drop(Entry& entry) {
  if (--entry.uses > 0) return;
  (void)fi_av_remove(&vector_, &entry.address, 1, 0);
  entries_.erase(entries_.find(*entry.name));
}

}  // namespace mad
