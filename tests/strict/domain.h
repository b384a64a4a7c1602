// StrictDomain: libfabric's objects of one domain of the provider "tcp", or of "tcp;ofi_rxm",
// watched by a persona's rules.
#ifndef TESTS_STRICT_DOMAIN_H_
#define TESTS_STRICT_DOMAIN_H_

#include <rdma/fabric.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_errno.h>

#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "tests/strict/disorder.h"
#include "tests/strict/hooked.h"
#include "tests/strict/persona.h"
#include "tests/strict/rules.h"

namespace mad::strict {

/// To one peer by datagrams.
struct StrictSender : Sender {
  std::uint32_t number = 0;  // in the data of its messages: whose they are
};

/// One connected endpoint.
struct StrictEndpoint : StrictSender {
  bool peer_looked_for = false;
};

class StrictDomain {
 public:
  StrictDomain(fid_domain& domain, const Persona& persona);
  ~StrictDomain();
  StrictDomain(const StrictDomain&) = delete;
  StrictDomain& operator=(const StrictDomain&) = delete;

  const Persona& persona() const { return persona_; }
  Rules& rules() { return rules_; }
  StrictEndpoint* endpoint(const fid_ep* object);
  StrictSender& sender_to(fi_addr_t to);
  /// As a provider does whose words stand at the beginning of a context.
  void scribble(void* context) const;
  /// A write of no bytes.  It fails where the environment has FI_STRICT_CABLE=pulled, and is never
  /// answered where that is "silent".
  ssize_t ask(const StrictEndpoint& endpoint, void* context);
  /// Endpoints are opened by other threads, too.
  std::unique_lock<std::recursive_mutex> lock() {
    return std::unique_lock<std::recursive_mutex>(mutex_);
  }

 private:
  /// A write of no bytes that nobody answers.
  struct Question {
    const StrictEndpoint* endpoint;
    void* context;
  };
  void give_up(const StrictEndpoint& closed);
  void watch_domain(fid_domain& domain);
  void watch_endpoint(fid_ep& endpoint);
  void watch_datagrams(fid_ep& endpoint);
  void watch_addresses(fid_av& addresses);
  void watch_receives(fid_ep& context);
  void watch_queue(fid_cq& queue, fi_cq_format format);
  void take(fi_cq_data_entry* entry);
  void watch_region(fid_mr& region, const void* memory, std::size_t bytes, std::uint64_t access);

  std::recursive_mutex mutex_;
  const Persona& persona_;
  Rules rules_;
  HookedTables<StrictDomain> tables_{this};
  std::map<const fid_ep*, StrictEndpoint> endpoints_;
  std::map<const fid_cq*, fi_cq_format> queues_;
  fid_av* addresses_ = nullptr;
  std::map<fi_addr_t, StrictSender> senders_;
  Disorder<fi_cq_data_entry> disorder_;
  std::deque<void*> answered_, failed_;  // contexts of writes of no bytes
  std::vector<Question> silent_;
};

// The calls of the provider below, and calls that are the same for several kinds of endpoints.
template <typename Calls>
StrictDomain& domain_of(const Calls* calls) {
  return *Hooked<Calls, StrictDomain>::of(calls).owner;
}
template <typename Calls>
const Calls& real(const Calls* calls) {
  return *Hooked<Calls, StrictDomain>::of(calls).real;
}
/// Calls that no user of ours makes: nothing is unwatched.
template <typename... Arguments>
ssize_t not_watched(Arguments...) {
  return -FI_ENOSYS;
}
ssize_t receive(fid_ep* ep, void* bytes, std::size_t size, void* descriptor, fi_addr_t from,
                void* context);

/// Tells of it, so that whoever reads a test's output sees why; -FI_EINVAL.
int refuse(const Persona& persona, const std::string& why);

/// The same object as the provider below knows it; free with fi_freeinfo(); null: no memory.
fi_info* as_below(const fi_info& strict);

/// Refuses data of a connection that are too long; the calls of `place` are watched from now on.
void watch_reject(HookedTables<const Persona>& tables, fi_ops_cm*& place);

}  // namespace mad::strict

#endif  // TESTS_STRICT_DOMAIN_H_
