#include "madlike/driver/ofi/provider.h"

#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <set>
#include <string>

#include "madlike/driver/ip/address.h"

namespace mad {
namespace {

constexpr std::uint32_t kApi = FI_VERSION(1, 11);

// tcp (1.17, ofi_bsock_send()) stages up to 9000 bytes that a full socket does not take and calls
// them sent, although they leave only if its owner polls again.  What has left must arrive without
// that, so nothing is staged.  Where the socket has room, tcp sends directly in any case.
void stage_nothing() { setenv("FI_TCP_STAGING_SBUF_SIZE", "0", 0); }

// verbs (1.17, ofi_mr_cache_search()) keeps regions registered that were closed, so that peers
// could still write where they were told to once.
void cache_no_regions() { setenv("FI_MR_CACHE_MAX_COUNT", "0", 0); }

// Before Linux 5.12 a fork() moves the parent to other pages than those that its device has, of
// packets too: rdma-core keeps them from the child there, where it is asked to.
void survive_forks() { setenv("RDMAV_FORK_SAFE", "1", 0); }

/// What a driver needs of a provider, or may be asked for by one: it registers memory where that is
/// demanded.
InfoPtr make_hints(fi_ep_type type, const std::string& provider) {
  InfoPtr hints(fi_allocinfo());
  if (!hints) return hints;
  hints->ep_attr->type = type;
  hints->domain_attr->mr_mode = FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY;
  // One thread at a time uses a driver: the provider may leave its locks out.
  hints->domain_attr->threading = FI_THREAD_DOMAIN;
  hints->domain_attr->control_progress = FI_PROGRESS_MANUAL;
  hints->domain_attr->data_progress = FI_PROGRESS_MANUAL;
  if (!provider.empty()) hints->fabric_attr->prov_name = strdup(provider.c_str());
  return hints;
}

/// Messages and remote writes, in order, remote reads, and a shared receive context.
InfoPtr hints_of_connected(const std::string& provider) {
  InfoPtr hints = make_hints(FI_EP_MSG, provider);
  if (!hints) return hints;
  hints->caps =
      FI_MSG | FI_RMA | FI_SEND | FI_RECV | FI_READ | FI_WRITE | FI_REMOTE_READ | FI_REMOTE_WRITE;
  hints->mode = FI_RX_CQ_DATA;  // no completion data is sent, so that nothing follows from it
  hints->addr_format = FI_SOCKADDR;
  hints->ep_attr->rx_ctx_cnt = FI_SHARED_CONTEXT;
  hints->tx_attr->msg_order = FI_ORDER_SAS | FI_ORDER_SAW;
  hints->rx_attr->msg_order = FI_ORDER_SAS | FI_ORDER_SAW;
  return hints;
}

/// Messages only.  Whoever has no order of them is taken, too: `order` 0.
InfoPtr hints_of_datagrams(const std::string& provider, std::uint64_t order) {
  InfoPtr hints = make_hints(FI_EP_RDM, provider);
  if (!hints) return hints;
  hints->caps = FI_MSG | FI_SEND | FI_RECV;
  hints->mode = FI_CONTEXT | FI_CONTEXT2;  // see OfiContext
  hints->domain_attr->mr_mode |= FI_MR_ENDPOINT;
  hints->tx_attr->msg_order = hints->rx_attr->msg_order = order;
  return hints;
}

/// What is offered to who asks so; on the host's interface with the address `node`, unless empty.
InfoPtr offers(const InfoPtr& hints, const std::string& node) {
  fi_info* list = nullptr;
  if (hints == nullptr) return InfoPtr();
  const int error = node.empty()
                        ? fi_getinfo(kApi, nullptr, nullptr, 0, hints.get(), &list)
                        : fi_getinfo(kApi, node.c_str(), nullptr, FI_SOURCE, hints.get(), &list);
  return InfoPtr(error == 0 ? list : nullptr);
}

std::string providers_there_are() {
  std::set<std::string> names;
  for (const InfoPtr& hints : {hints_of_connected(""), hints_of_datagrams("", 0)}) {
    const InfoPtr list = offers(hints, "");
    for (const fi_info* each = list.get(); each; each = each->next) {
      std::string name = each->fabric_attr->prov_name;
      std::replace(name.begin(), name.end(), ';', '+');
      names.insert(std::move(name));
    }
  }
  std::string text;
  for (const std::string& name : names) text += " " + name;
  return text.empty() ? " none" : text;
}

// The provider lists one entry per local address, the fastest interfaces first; the first one that
// other engines can reach is taken, IPv4 before IPv6.
const fi_info* choose(const fi_info* list) {
  const fi_info* second = nullptr;
  for (const fi_info* each = list; each; each = each->next) {
    const auto* source = static_cast<const sockaddr*>(each->src_addr);
    if (!source || is_local_to_link(source)) continue;
    if (source->sa_family == AF_INET) return each;
    if (!second) second = each;
  }
  return second ? second : list;
}

bool has_socket_addresses(const fi_info& info) {
  return info.addr_format == FI_SOCKADDR || info.addr_format == FI_SOCKADDR_IN ||
         info.addr_format == FI_SOCKADDR_IN6;
}

/// The address of the interface that the user named; empty: none was.
Result<std::string> node_of(const OfiOptions& options) {
  if (options.interface.empty()) return std::string();
  return interface_address(options.interface);
}

std::string no_provider(const OfiOptions& options, const std::string& node) {
  return "no libfabric provider \"" + options.provider + "\"" +
         (node.empty() ? "" : " on " + options.interface + " (" + node + ")");
}

Result<InfoPtr> copy_of(const fi_info* chosen) {
  InfoPtr info(fi_dupinfo(chosen));
  if (!info) return Status(StatusCode::kNoMemory, "no memory for fi_info");
  return info;
}

}  // namespace

void prepare_libfabric() {
  stage_nothing();
  cache_no_regions();
  survive_forks();
}

std::string libfabric_name(std::string provider) {
  std::replace(provider.begin(), provider.end(), '+', ';');
  return provider;
}

Result<InfoPtr> find_connected(const OfiOptions& options) {
  Result<std::string> node = node_of(options);
  if (!node.ok()) return node.status();
  const InfoPtr hints = hints_of_connected(libfabric_name(options.provider));
  if (!hints) return Status(StatusCode::kNoMemory, "no memory for fi_info");
  const InfoPtr list = offers(hints, *node);
  const fi_info* const chosen = choose(list.get());
  if (chosen == nullptr || chosen->src_addr == nullptr) {
    return Status(StatusCode::kNotFound, no_provider(options, *node) + " with connected endpoints");
  }
  return copy_of(chosen);
}

// A provider that has no IP addresses knows nothing of the interface, and chooses a device itself.
Result<InfoPtr> find_datagrams(const OfiOptions& options) {
  Result<std::string> node = node_of(options);
  if (!node.ok()) return node.status();
  const std::string name = libfabric_name(options.provider);
  for (const bool on_node : {true, false}) {
    for (const std::uint64_t order : {std::uint64_t{FI_ORDER_SAS}, std::uint64_t{0}}) {
      const InfoPtr list = offers(hints_of_datagrams(name, order), on_node ? *node : "");
      if (!list || (!on_node && !node->empty() && has_socket_addresses(*list))) continue;
      return copy_of(has_socket_addresses(*list) ? choose(list.get()) : list.get());
    }
  }
  return Status(StatusCode::kNotFound,
                no_provider(options, *node) + "; there are:" + providers_there_are());
}

}  // namespace mad
