// The libfabric provider "strict": connected endpoints of the provider "tcp", or endpoints for
// datagrams of "tcp;ofi_rxm", that hold their user to the rules of RDMA hardware (persona.h,
// rules.h), without any such hardware.
//
// libfabric finds it where FI_PROVIDER_PATH names the folder of libstrict-fi.so.  FI_STRICT_AS
// names the persona, "verbs" if nothing does.
#include <rdma/fi_cm.h>
#include <rdma/fi_errno.h>
#include <rdma/providers/fi_prov.h>

#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>

#include "tests/strict/domain.h"

namespace mad::strict {
namespace {

constexpr const char* kName = "strict";
constexpr std::uint32_t kApi = FI_VERSION(1, 11);

struct Free {
  void operator()(fi_info* info) const { fi_freeinfo(info); }
};
using Info = std::unique_ptr<fi_info, Free>;

void rename(fi_fabric_attr& attr, const char* name) {
  std::free(attr.prov_name);
  attr.prov_name = name != nullptr ? strdup(name) : nullptr;
}

const char* provider_below(fi_ep_type type) { return type == FI_EP_RDM ? "tcp;ofi_rxm" : "tcp"; }

// What the provider below is asked for, whatever the user of this provider asked for.
Info hints_below(fi_ep_type type) {
  Info hints(fi_allocinfo());
  if (!hints) return hints;
  hints->caps = FI_MSG | FI_SEND | FI_RECV;
  hints->ep_attr->type = type;
  hints->domain_attr->cq_data_size = 8;
  hints->domain_attr->threading = FI_THREAD_DOMAIN;
  hints->addr_format = FI_SOCKADDR;
  hints->tx_attr->msg_order = hints->rx_attr->msg_order = FI_ORDER_SAS;
  rename(*hints->fabric_attr, provider_below(type));
  if (type == FI_EP_RDM) return hints;
  hints->caps |= FI_RMA | FI_READ | FI_WRITE | FI_REMOTE_READ | FI_REMOTE_WRITE;
  hints->ep_attr->rx_ctx_cnt = FI_SHARED_CONTEXT;
  hints->domain_attr->mr_mode = FI_MR_BASIC;
  hints->tx_attr->msg_order = hints->rx_attr->msg_order = FI_ORDER_SAS | FI_ORDER_SAW;
  return hints;
}

const Persona* persona_asked_for() {
  const char* const name = std::getenv("FI_STRICT_AS");
  return find_persona(name != nullptr ? name : "verbs");
}

// Whether this persona's provider would offer anything to who asks so.
bool suits(const Persona& persona, const fi_info* hints) {
  if (hints == nullptr) return true;
  if (hints->fabric_attr != nullptr && hints->fabric_attr->prov_name != nullptr &&
      std::strcmp(hints->fabric_attr->prov_name, kName) != 0) {
    return false;
  }
  if (hints->ep_attr != nullptr && hints->ep_attr->type != FI_EP_UNSPEC &&
      hints->ep_attr->type != persona.type) {
    return false;
  }
  if (!persona.orders_sends && hints->tx_attr != nullptr &&
      (hints->tx_attr->msg_order & FI_ORDER_SAS) != 0) {
    return false;
  }
  const int agreed = hints->domain_attr != nullptr ? hints->domain_attr->mr_mode : 0;
  const std::size_t data = hints->domain_attr != nullptr ? hints->domain_attr->cq_data_size : 0;
  const bool basic = agreed == FI_MR_BASIC && (persona.mr_mode & ~kVerbsRegistration) == 0;
  return (basic || (agreed & persona.mr_mode) == persona.mr_mode) &&
         (hints->mode & persona.mode) == persona.mode && data <= persona.cq_data_bytes;
}

void disguise(fi_info& info, const Persona& persona) {
  rename(*info.fabric_attr, nullptr);  // libfabric puts this provider's
  info.mode = persona.mode;
  if (!persona.orders_sends) info.tx_attr->msg_order = info.rx_attr->msg_order = 0;
  if (persona.type == FI_EP_RDM) {
    info.domain_attr->data_progress =
        persona.moves_by_itself ? FI_PROGRESS_AUTO : FI_PROGRESS_MANUAL;
  }
  info.domain_attr->mr_mode = persona.mr_mode;
  info.domain_attr->cq_data_size = persona.cq_data_bytes;
  info.tx_attr->inject_size = persona.inject_bytes;
  info.tx_attr->iov_limit = info.tx_attr->rma_iov_limit = persona.segments;
  info.tx_attr->size = persona.sends;
  info.rx_attr->iov_limit = persona.segments;
  info.rx_attr->size = persona.receives;
}

int getinfo(std::uint32_t version, const char* node, const char* service, std::uint64_t flags,
            const fi_info* hints, fi_info** out) {
  const Persona* const persona = persona_asked_for();
  if (persona == nullptr || !suits(*persona, hints)) return -FI_ENODATA;
  const Info below = hints_below(persona->type);
  if (!below) return -FI_ENOMEM;
  const int error = fi_getinfo(version, node, service, flags, below.get(), out);
  for (fi_info* each = error == 0 ? *out : nullptr; each != nullptr; each = each->next) {
    disguise(*each, *persona);
  }
  return error;
}

int open_domain(fid_fabric* fabric, fi_info* info, fid_domain** out, void* context);
int open_listener(fid_fabric* fabric, fi_info* info, fid_pep** out, void* context);

/// A fabric's calls, until it is closed.
class StrictFabric {
 public:
  StrictFabric(fid_fabric& fabric, const Persona& persona) : persona_(persona) {
    tables_.hook(fabric.fid.ops)->close = [](fid* object) {
      const auto& hooked = Hooked<fi_ops, StrictFabric>::of(object->ops);
      StrictFabric* const owner = hooked.owner;
      const int error = hooked.real->close(object);
      if (error == 0) delete owner;
      return error;
    };
    fi_ops_fabric* const opens = tables_.hook(fabric.ops);
    opens->domain = open_domain;
    opens->eq_open = [](fid_fabric* object, fi_eq_attr* attr, fid_eq** out, void* context) {
      fi_eq_attr tcp = *attr;
      if (tcp.wait_obj == FI_WAIT_NONE) tcp.wait_obj = FI_WAIT_FD;  // else tcp does not connect
      return Hooked<fi_ops_fabric, StrictFabric>::of(object->ops)
          .real->eq_open(object, &tcp, out, context);
    };
    opens->passive_ep = open_listener;
  }
  const Persona& persona() const { return persona_; }
  HookedTables<const Persona>& listeners() { return listeners_; }

 private:
  const Persona& persona_;
  HookedTables<StrictFabric> tables_{this};
  HookedTables<const Persona> listeners_{&persona_};
};

int open_domain(fid_fabric* fabric, fi_info* info, fid_domain** out, void* context) {
  const auto& hooked = Hooked<fi_ops_fabric, StrictFabric>::of(fabric->ops);
  const Persona& persona = hooked.owner->persona();
  const int agreed = info->domain_attr->mr_mode;
  if (agreed != FI_MR_BASIC && (agreed & persona.mr_mode) != persona.mr_mode) {
    return refuse(persona, "a domain opened without the mr_mode that is demanded");
  }
  const Info tcp(as_below(*info));
  if (!tcp) return -FI_ENOMEM;
  const int error = hooked.real->domain(fabric, tcp.get(), out, context);
  if (error == 0) new StrictDomain(**out, persona);  // goes with the domain
  return error;
}

int open_listener(fid_fabric* fabric, fi_info* info, fid_pep** out, void* context) {
  const auto& hooked = Hooked<fi_ops_fabric, StrictFabric>::of(fabric->ops);
  const Info tcp(as_below(*info));
  if (!tcp) return -FI_ENOMEM;
  const int error = hooked.real->passive_ep(fabric, tcp.get(), out, context);
  if (error == 0) watch_reject(hooked.owner->listeners(), (*out)->cm);
  return error;
}

int open_fabric(fi_fabric_attr* attr, fid_fabric** out, void* context) {
  const Persona* const persona = persona_asked_for();
  if (persona == nullptr) return -FI_ENODATA;
  fi_fabric_attr tcp = *attr;
  std::string name = provider_below(persona->type);
  tcp.prov_name = name.data();
  const int error = fi_fabric(&tcp, out, context);
  if (error == 0) new StrictFabric(**out, *persona);  // goes with the fabric
  return error;
}

fi_provider provider() {
  fi_provider made{};
  made.version = FI_VERSION(1, 0);
  made.fi_version = kApi;
  made.name = kName;
  made.getinfo = getinfo;
  made.fabric = open_fabric;
  made.cleanup = [] {};
  return made;
}

}  // namespace

fi_info* as_below(const fi_info& strict) {
  const fi_ep_type type = strict.ep_attr->type;
  const Info hints = hints_below(type);
  fi_info* offered = nullptr;
  if (!hints || fi_getinfo(kApi, nullptr, nullptr, 0, hints.get(), &offered) != 0) return nullptr;
  const Info below(offered);
  fi_info* const made = fi_dupinfo(&strict);
  if (made == nullptr) return nullptr;
  rename(*made->fabric_attr, provider_below(type));
  made->mode = 0;
  made->domain_attr->mr_mode = offered->domain_attr->mr_mode;
  made->domain_attr->cq_data_size = offered->domain_attr->cq_data_size;
  made->domain_attr->data_progress = offered->domain_attr->data_progress;
  *made->tx_attr = *offered->tx_attr;
  *made->rx_attr = *offered->rx_attr;
  return made;
}

}  // namespace mad::strict

extern "C" __attribute__((visibility("default"))) fi_provider* fi_prov_ini() {
  static fi_provider made = mad::strict::provider();
  return &made;
}
