// Persona: what a provider of RDMA hardware demands of its users and offers them, as a value.
//
// The figures of verbs are those of libfabric 1.17's provider, read in its sources; iWARP is the
// same provider on a device whose messages carry no data of their own.  Those of the providers for
// datagrams are what their sources claim, of which none could be run here; how many sends and
// receives they take at once is our own choice, few, so that queues are full now and then.
#ifndef TESTS_STRICT_PERSONA_H_
#define TESTS_STRICT_PERSONA_H_

#include <rdma/fabric.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace mad::strict {

struct Persona {
  std::string_view name;
  fi_ep_type type;                 // FI_EP_MSG: of tcp's endpoints; FI_EP_RDM: of tcp;ofi_rxm's
  int mr_mode;                     // what whoever opens a domain must agree to
  std::uint64_t mode;              // likewise
  std::size_t cq_data_bytes;       // with a message, at most; 0: none
  std::size_t connect_data_bytes;  // with a request, acceptance or refusal, at most
  std::size_t inject_bytes;        // without a descriptor, at most
  std::size_t segments;            // of a packet or a write, at most
  std::size_t sends;               // operations to one peer that have not completed, at most
  std::size_t receives;            // buffers that stand ready, at most
  bool orders_sends;               // messages come in the order sent (FI_ORDER_SAS)
  bool moves_by_itself;            // FI_PROGRESS_AUTO

  /// Whether memory that is sent from or received in is registered.
  bool registers() const { return (mr_mode & FI_MR_LOCAL) != 0; }
  /// Bytes at the beginning of an operation's context that are the provider's.
  std::size_t context_bytes() const {
    if ((mode & FI_CONTEXT2) != 0) return sizeof(fi_context2);
    return (mode & FI_CONTEXT) != 0 ? sizeof(fi_context) : 0;
  }
};

inline constexpr int kVerbsRegistration =
    FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY;

inline constexpr int kEfaRegistration = FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY;
inline constexpr int kCxiRegistration = FI_MR_ENDPOINT | FI_MR_ALLOCATED;

// clang-format off
inline constexpr std::array<Persona, 6> kPersonas{{
    {"verbs", FI_EP_MSG, kVerbsRegistration, FI_RX_CQ_DATA, 4, 55, 64, 4, 384, 384, true, true},
    {"iwarp", FI_EP_MSG, kVerbsRegistration, FI_RX_CQ_DATA, 0, 55, 64, 4, 384, 384, true, true},
    {"psm2", FI_EP_RDM, 0, FI_CONTEXT, 0, 0, 64, 13, 32, 512, true, false},
    {"opx", FI_EP_RDM, 0, FI_CONTEXT2, 4, 0, 16, 1, 16, 512, false, true},
    {"efa", FI_EP_RDM, kEfaRegistration, FI_CONTEXT2, 4, 0, 4096, 4, 32, 512, true, false},
    {"cxi", FI_EP_RDM, kCxiRegistration, 0, 8, 0, 192, 1, 16, 512, true, false},
}};
// clang-format on

/// The persona of that name, or null.
inline const Persona* find_persona(std::string_view name) {
  for (const Persona& each : kPersonas) {
    if (each.name == name) return &each;
  }
  return nullptr;
}

}  // namespace mad::strict

#endif  // TESTS_STRICT_PERSONA_H_
