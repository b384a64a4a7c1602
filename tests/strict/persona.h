// Persona: what a provider of RDMA hardware demands of its users and offers them, as a value.
//
// The figures are those of libfabric 1.17's provider "verbs", read in its sources; iWARP is the
// same provider on a device whose messages carry no data of their own.
#ifndef TESTS_STRICT_PERSONA_H_
#define TESTS_STRICT_PERSONA_H_

#include <rdma/fabric.h>
#include <rdma/fi_domain.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace mad::strict {

struct Persona {
  std::string_view name;
  int mr_mode;                     // what whoever opens a domain must agree to
  std::uint64_t mode;              // likewise
  std::size_t cq_data_bytes;       // with a message, at most; 0: none
  std::size_t connect_data_bytes;  // with a request, acceptance or refusal, at most
  std::size_t inject_bytes;        // without a descriptor, at most
  std::size_t segments;            // of a packet or a write, at most
  std::size_t sends;               // operations of an endpoint that have not completed, at most
  std::size_t receives;            // buffers that stand ready, at most
};

inline constexpr int kVerbsRegistration =
    FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY;

inline constexpr std::array<Persona, 2> kPersonas{{
    {"verbs", kVerbsRegistration, FI_RX_CQ_DATA, 4, 55, 64, 4, 384, 384},
    {"iwarp", kVerbsRegistration, FI_RX_CQ_DATA, 0, 55, 64, 4, 384, 384},
}};

/// The persona of that name, or null.
inline const Persona* find_persona(std::string_view name) {
  for (const Persona& each : kPersonas) {
    if (each.name == name) return &each;
  }
  return nullptr;
}

}  // namespace mad::strict

#endif  // TESTS_STRICT_PERSONA_H_
