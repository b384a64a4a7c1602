// mad_peer: what a peer handle of the C interface points to.  Owned by its engine, as long as that
// lives.
#ifndef NETMOD_ABI_PEER_H_
#define NETMOD_ABI_PEER_H_

#include <cstdint>

#include "madlike/message/messenger.h"
#include "netmod/abi/address.h"
#include "netmod/abi/mad.h"

struct mad_peer {
  mad_engine* engine = nullptr;
  mad::Endpoint* endpoint = nullptr;  // null once it is gone and nobody waits for its messages
  void* context = nullptr;            // the caller's
  std::uint32_t number = 0;           // in the order in which the engine met them
  mad_status status = MAD_SUCCESS;    // how it went, once it is gone
  bool released = false;              // by the caller, who names it no more
  bool self = false;                  // it is the engine itself
  mad::EngineAddress address;
};

#endif  // NETMOD_ABI_PEER_H_
