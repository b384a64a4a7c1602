// An endpoint for datagrams, and the addresses it sends to.
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <sys/socket.h>

#include <array>
#include <cstring>

#include "tests/strict/domain.h"
#include "tests/strict/endpoints.h"

namespace mad::strict {
namespace {

ssize_t refused(const StrictDomain& domain, const std::string& wrong) {
  return refuse(domain.persona(), wrong);
}

ssize_t send_datagram(fid_ep* ep, const void* bytes, std::size_t size, void* /*descriptor*/,
                      fi_addr_t to, void* context) {
  StrictDomain& domain = domain_of(ep->msg);
  const auto lock = domain.lock();
  StrictSender& sender = domain.sender_to(to);
  if (domain.rules().is_full(sender)) return -FI_EAGAIN;
  const iovec iov{const_cast<void*>(bytes), size};
  const std::string wrong = domain.rules().send(sender, &iov, nullptr, 1, FI_SEND, false, context);
  if (!wrong.empty()) return refused(domain, wrong);
  domain.scribble(context);
  const ssize_t error = real(ep->msg).senddata(ep, bytes, size, nullptr,
                                               std::uint64_t{sender.number} << 32, to, context);
  if (error != 0) domain.rules().taken_back(sender, FI_SEND, context);
  return error;
}

ssize_t inject_datagram(fid_ep* ep, const void* bytes, std::size_t size, fi_addr_t to) {
  StrictDomain& domain = domain_of(ep->msg);
  const auto lock = domain.lock();
  StrictSender& sender = domain.sender_to(to);
  const std::string wrong = domain.rules().inject(sender, size);
  if (!wrong.empty()) return refused(domain, wrong);
  const ssize_t error =
      real(ep->msg).injectdata(ep, bytes, size, std::uint64_t{sender.number} << 32, to);
  if (error != 0) domain.rules().inject_taken_back(sender);
  return error;
}

}  // namespace

// Whose buffers messages to this address take is found out at the first of them.
StrictSender& StrictDomain::sender_to(fi_addr_t to) {
  const auto [found, is_new] = senders_.try_emplace(to);
  StrictSender& sender = found->second;
  if (!is_new) return sender;
  sockaddr_storage address{};
  std::size_t size = sizeof(address);
  if (fi_av_lookup(addresses_, to, &address, &size) == 0) {
    const char* const bytes = reinterpret_cast<const char*>(&address);
    sender.receiver = Endpoints::all().listening(Endpoints::Name(bytes, bytes + size));
  }
  sender.number = Endpoints::all().add(sender, nullptr, rules_.buffers());
  return sender;
}

void StrictDomain::scribble(void* context) const {
  std::memset(context, 0xA5, persona_.context_bytes());
}

void StrictDomain::watch_addresses(fid_av& opened) {
  addresses_ = &opened;
  fi_ops_av* const calls = tables_.hook(opened.ops);
  if (calls == nullptr) return;
  calls->remove = [](fid_av* object, fi_addr_t* addresses, std::size_t count, std::uint64_t flags) {
    StrictDomain& owner = domain_of(object->ops);
    const auto lock = owner.lock();
    for (std::size_t i = 0; i < count; ++i) {
      const auto found = owner.senders_.find(addresses[i]);
      if (found == owner.senders_.end()) continue;
      if (found->second.operations > 0) {
        return refuse(owner.persona(), "an address is removed that is sent to");
      }
      Endpoints::all().remove(found->second.number);
      owner.rules().closed(found->second);
      owner.senders_.erase(found);
    }
    return real(object->ops).remove(object, addresses, count, flags);
  };
}

void StrictDomain::watch_datagrams(fid_ep& opened) {
  if (fi_ops* const calls = tables_.hook(opened.fid.ops)) {
    calls->close = [](fid* object) {
      StrictDomain& owner = domain_of(object->ops);
      const auto lock = owner.lock();
      owner.rules().no_receives();
      for (auto& [to, sender] : owner.senders_) {
        Endpoints::all().remove(sender.number);
        owner.rules().closed(sender);
      }
      owner.senders_.clear();
      return real(object->ops).close(object);
    };
    calls->control = [](fid* object, int command, void* argument) {
      const int error = real(object->ops).control(object, command, argument);
      if (error == 0 && command == FI_ENABLE) {
        auto* const endpoint = reinterpret_cast<fid_ep*>(object);
        Endpoints::all().listens(Endpoints::name(endpoint, false),
                                 domain_of(object->ops).rules().buffers());
      }
      return error;
    };
  }
  if (fi_ops_msg* const calls = tables_.hook(opened.msg)) {
    const std::size_t size = calls->size;
    *calls = {size,        receive,     not_watched,     not_watched, send_datagram,
              not_watched, not_watched, inject_datagram, not_watched, not_watched};
  }
}

}  // namespace mad::strict
