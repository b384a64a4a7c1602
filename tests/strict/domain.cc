#include "tests/strict/domain.h"

#include <rdma/fi_cm.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string>
#include <vector>

#include "tests/strict/endpoints.h"

namespace mad::strict {
namespace {

ssize_t send_message(fid_ep* ep, const fi_msg* message, std::uint64_t flags) {
  StrictDomain& domain = domain_of(ep->msg);
  const auto lock = domain.lock();
  const Persona& persona = domain.persona();
  StrictEndpoint& endpoint = *domain.endpoint(ep);
  if (!endpoint.peer_looked_for) {
    endpoint.receiver = Endpoints::all().peer_of(ep);
    endpoint.peer_looked_for = true;
  }
  fi_msg passed = *message;
  passed.desc = nullptr;
  passed.data = std::uint64_t{endpoint.number} << 32;
  if ((flags & FI_REMOTE_CQ_DATA) != 0) {
    const std::size_t bits = 8 * persona.cq_data_bytes;
    if (bits == 0 || (bits < 64 && message->data >> bits != 0)) {
      return refuse(persona, "data of more than " + std::to_string(persona.cq_data_bytes) +
                                 " bytes with a message");
    }
    passed.data |= (kHasData << 32) | message->data;
  }
  if (domain.rules().is_full(endpoint)) return -FI_EAGAIN;
  const std::string wrong =
      domain.rules().send(endpoint, message->msg_iov, message->desc, message->iov_count, FI_SEND,
                          (flags & FI_INJECT) != 0, message->context);
  if (!wrong.empty()) return refuse(persona, wrong);
  const ssize_t error = real(ep->msg).sendmsg(ep, &passed, flags | FI_REMOTE_CQ_DATA);
  if (error != 0) domain.rules().taken_back(endpoint, FI_SEND, message->context);
  return error;
}

ssize_t send(fid_ep* ep, const void* bytes, std::size_t size, void* descriptor, fi_addr_t,
             void* context) {
  const iovec iov{const_cast<void*>(bytes), size};
  fi_msg message{};
  message.msg_iov = &iov;
  message.desc = &descriptor;
  message.iov_count = 1;
  message.context = context;
  return send_message(ep, &message, FI_COMPLETION);
}

ssize_t write_message(fid_ep* ep, const fi_msg_rma* message, std::uint64_t flags) {
  StrictDomain& domain = domain_of(ep->rma);
  const auto lock = domain.lock();
  StrictEndpoint& endpoint = *domain.endpoint(ep);
  if (message->rma_iov_count != 1) return refuse(domain.persona(), "a write to several places");
  if (message->rma_iov->len == 0) return domain.ask(endpoint, message->context);
  if (domain.rules().is_full(endpoint)) return -FI_EAGAIN;
  const std::string wrong =
      domain.rules().send(endpoint, message->msg_iov, message->desc, message->iov_count, FI_WRITE,
                          (flags & FI_INJECT) != 0, message->context);
  if (!wrong.empty()) return refuse(domain.persona(), wrong);
  fi_msg_rma passed = *message;
  passed.desc = nullptr;
  const ssize_t error = real(ep->rma).writemsg(ep, &passed, flags);
  if (error != 0) domain.rules().taken_back(endpoint, FI_WRITE, message->context);
  return error;
}

ssize_t read_message(fid_ep* ep, const fi_msg_rma* message, std::uint64_t flags) {
  StrictDomain& domain = domain_of(ep->rma);
  const auto lock = domain.lock();
  StrictEndpoint& endpoint = *domain.endpoint(ep);
  if (message->rma_iov_count != 1) return refuse(domain.persona(), "a read of several places");
  if (domain.rules().is_full(endpoint)) return -FI_EAGAIN;
  const std::string wrong =
      domain.rules().send(endpoint, message->msg_iov, message->desc, message->iov_count, FI_READ,
                          false, message->context);
  if (!wrong.empty()) return refuse(domain.persona(), wrong);
  fi_msg_rma passed = *message;
  passed.desc = nullptr;
  const ssize_t error = real(ep->rma).readmsg(ep, &passed, flags);
  if (error != 0) domain.rules().taken_back(endpoint, FI_READ, message->context);
  return error;
}

bool too_long(const Persona& persona, std::size_t bytes) {
  return bytes > persona.connect_data_bytes;
}

std::string why_too_long(const Persona& persona, std::size_t bytes) {
  return std::to_string(bytes) + " bytes of a connection's data, at most " +
         std::to_string(persona.connect_data_bytes);
}

std::size_t entry_bytes(fi_cq_format format) {
  switch (format) {
    case FI_CQ_FORMAT_CONTEXT:
      return sizeof(fi_cq_entry);
    case FI_CQ_FORMAT_MSG:
      return sizeof(fi_cq_msg_entry);
    default:
      return sizeof(fi_cq_data_entry);
  }
}

}  // namespace

ssize_t receive(fid_ep* ep, void* bytes, std::size_t size, void* descriptor, fi_addr_t from,
                void* context) {
  StrictDomain& domain = domain_of(ep->msg);
  const auto lock = domain.lock();
  if (domain.rules().has_all_buffers()) return -FI_EAGAIN;
  const std::string wrong = domain.rules().receive({bytes, size}, descriptor, context);
  if (!wrong.empty()) return refuse(domain.persona(), wrong);
  domain.scribble(context);
  const ssize_t error = real(ep->msg).recv(ep, bytes, size, nullptr, from, context);
  if (error != 0) domain.rules().completed(context);
  return error;
}

int refuse(const Persona& persona, const std::string& why) {
  std::fprintf(stderr, "strict provider (%s): %s\n", persona.name.data(), why.c_str());
  return -FI_EINVAL;
}

void watch_reject(HookedTables<const Persona>& tables, fi_ops_cm*& place) {
  fi_ops_cm* const calls = tables.hook(place);
  if (calls == nullptr) return;
  calls->reject = [](fid_pep* pep, fid_t handle, const void* data, std::size_t size) {
    const auto& hooked = Hooked<fi_ops_cm, const Persona>::of(pep->cm);
    if (too_long(*hooked.owner, size))
      return refuse(*hooked.owner, why_too_long(*hooked.owner, size));
    return hooked.real->reject(pep, handle, data, size);
  };
}

// The provider "tcp" looks for a key also where no bytes are written.  A device does not: so this
// one answers by itself.
ssize_t StrictDomain::ask(const StrictEndpoint& endpoint, void* context) {
  const char* const cable = std::getenv("FI_STRICT_CABLE");
  const std::string state = cable == nullptr ? "" : cable;
  if (state == "silent") {
    silent_.push_back({&endpoint, context});
  } else {
    (state == "pulled" ? failed_ : answered_).push_back(context);
  }
  return 0;
}

void StrictDomain::give_up(const StrictEndpoint& closed) {
  const auto its = [&](const Question& question) {
    if (question.endpoint == &closed) failed_.push_back(question.context);
    return question.endpoint == &closed;
  };
  silent_.erase(std::remove_if(silent_.begin(), silent_.end(), its), silent_.end());
}

StrictDomain::StrictDomain(fid_domain& domain, const Persona& persona)
    : persona_(persona), rules_(persona) {
  watch_domain(domain);
}

StrictDomain::~StrictDomain() {
  for (auto& [object, endpoint] : endpoints_) Endpoints::all().remove(endpoint.number);
  for (auto& [to, sender] : senders_) Endpoints::all().remove(sender.number);
}

StrictEndpoint* StrictDomain::endpoint(const fid_ep* object) {
  const auto found = endpoints_.find(object);
  return found == endpoints_.end() ? nullptr : &found->second;
}

void StrictDomain::watch_domain(fid_domain& domain) {
  if (fi_ops* const object = tables_.hook(domain.fid.ops)) {
    object->close = [](fid* closed) {
      const auto& calls = real(closed->ops);
      StrictDomain* const owner = &domain_of(closed->ops);
      const int error = calls.close(closed);
      if (error == 0) delete owner;
      return error;
    };
  }
  fi_ops_domain* const opens = tables_.hook(domain.ops);
  opens->endpoint = [](fid_domain* object, fi_info* info, fid_ep** out, void* context) {
    StrictDomain& owner = domain_of(object->ops);
    const bool connects = owner.persona().type == FI_EP_MSG;
    if (connects && info->dest_addr == nullptr && info->handle == nullptr) {
      return refuse(owner.persona(), "an endpoint to connect, without its destination");
    }
    fi_info* const tcp = as_below(*info);
    if (tcp == nullptr) return -FI_ENOMEM;
    const int error = real(object->ops).endpoint(object, tcp, out, context);
    fi_freeinfo(tcp);
    if (error != 0) return error;
    const auto lock = owner.lock();
    connects ? owner.watch_endpoint(**out) : owner.watch_datagrams(**out);
    return error;
  };
  opens->av_open = [](fid_domain* object, fi_av_attr* attr, fid_av** out, void* context) {
    const int error = real(object->ops).av_open(object, attr, out, context);
    if (error == 0) domain_of(object->ops).watch_addresses(**out);
    return error;
  };
  opens->srx_ctx = [](fid_domain* object, fi_rx_attr* attr, fid_ep** out, void* context) {
    fi_rx_attr tcp = *attr;
    tcp.mode = 0;
    const int error = real(object->ops).srx_ctx(object, &tcp, out, context);
    if (error == 0) domain_of(object->ops).watch_receives(**out);
    return error;
  };
  opens->cq_open = [](fid_domain* object, fi_cq_attr* attr, fid_cq** out, void* context) {
    fi_cq_attr tcp = *attr;
    tcp.format = FI_CQ_FORMAT_DATA;
    const bool connects = domain_of(object->ops).persona().type == FI_EP_MSG;
    // Without it tcp does not connect.
    if (connects && tcp.wait_obj == FI_WAIT_NONE) tcp.wait_obj = FI_WAIT_FD;
    const int error = real(object->ops).cq_open(object, &tcp, out, context);
    if (error == 0) domain_of(object->ops).watch_queue(**out, attr->format);
    return error;
  };
  fi_ops_mr* const regions = tables_.hook(domain.mr);
  regions->reg = [](fid* object, const void* memory, std::size_t size, std::uint64_t access,
                    std::uint64_t offset, std::uint64_t key, std::uint64_t flags, fid_mr** out,
                    void* context) {
    const fi_ops_mr* const calls = reinterpret_cast<fid_domain*>(object)->mr;
    const int error =
        real(calls).reg(object, memory, size, access, offset, key, flags, out, context);
    if (error == 0) domain_of(calls).watch_region(**out, memory, size, access);
    return error;
  };
  regions->regv = [](fid*, const iovec*, std::size_t, std::uint64_t, std::uint64_t, std::uint64_t,
                     std::uint64_t, fid_mr**, void*) { return -FI_ENOSYS; };
  regions->regattr = [](fid* object, const fi_mr_attr* attr, std::uint64_t flags, fid_mr** out) {
    const fi_ops_mr* const calls = reinterpret_cast<fid_domain*>(object)->mr;
    if (attr->iov_count != 1) return -FI_ENOSYS;
    const int error = real(calls).regattr(object, attr, flags, out);
    if (error == 0) {
      const iovec& memory = attr->mr_iov[0];
      domain_of(calls).watch_region(**out, memory.iov_base, memory.iov_len, attr->access);
    }
    return error;
  };
}

void StrictDomain::watch_region(fid_mr& region, const void* memory, std::size_t bytes,
                                std::uint64_t access) {
  const auto lock = this->lock();
  region.mem_desc = &region;
  rules_.add_region(&region, memory, bytes, access);
  fi_ops* const calls = tables_.hook(region.fid.ops);
  if (calls == nullptr) return;
  calls->close = [](fid* object) {
    StrictDomain& owner = domain_of(object->ops);
    const auto lock = owner.lock();
    const std::string wrong = owner.rules().remove_region(object);
    return wrong.empty() ? real(object->ops).close(object) : refuse(owner.persona(), wrong);
  };
}

void StrictDomain::watch_receives(fid_ep& context) {
  if (fi_ops_msg* const calls = tables_.hook(context.msg)) {
    calls->recv = receive;
    calls->recvv = not_watched;
    calls->recvmsg = not_watched;
  }
  if (fi_ops* const calls = tables_.hook(context.fid.ops)) {
    calls->close = [](fid* object) {
      StrictDomain& owner = domain_of(object->ops);
      const auto lock = owner.lock();
      owner.rules().no_receives();
      return real(object->ops).close(object);
    };
  }
}

void StrictDomain::watch_endpoint(fid_ep& opened) {
  StrictEndpoint& endpoint = endpoints_[&opened];
  endpoint.number = Endpoints::all().add(endpoint, &opened, rules_.buffers());
  if (fi_ops* const calls = tables_.hook(opened.fid.ops)) {
    calls->close = [](fid* object) {
      StrictDomain& owner = domain_of(object->ops);
      const auto lock = owner.lock();
      auto* const closed = reinterpret_cast<fid_ep*>(object);
      StrictEndpoint& endpoint = *owner.endpoint(closed);
      Endpoints::all().remove(endpoint.number);
      owner.give_up(endpoint);
      owner.rules().closed(endpoint);
      owner.endpoints_.erase(closed);
      return real(object->ops).close(object);
    };
  }
  if (fi_ops_cm* const calls = tables_.hook(opened.cm)) {
    calls->connect = [](fid_ep* ep, const void* address, const void* data, std::size_t size) {
      const Persona& persona = domain_of(ep->cm).persona();
      if (too_long(persona, size)) return refuse(persona, why_too_long(persona, size));
      return real(ep->cm).connect(ep, address, data, size);
    };
    calls->accept = [](fid_ep* ep, const void* data, std::size_t size) {
      const Persona& persona = domain_of(ep->cm).persona();
      if (too_long(persona, size)) return refuse(persona, why_too_long(persona, size));
      return real(ep->cm).accept(ep, data, size);
    };
  }
  if (fi_ops_ep* const calls = tables_.hook(opened.ops)) {
    calls->getopt = [](fid* object, int level, int name, void* value, std::size_t* size) {
      const fi_ops_ep* const own = reinterpret_cast<fid_ep*>(object)->ops;
      const int error = real(own).getopt(object, level, name, value, size);
      if (error == 0 && name == FI_OPT_CM_DATA_SIZE) {
        const std::size_t bytes = domain_of(own).persona().connect_data_bytes;
        std::memcpy(value, &bytes, sizeof(bytes));
      }
      return error;
    };
  }
  if (fi_ops_msg* const calls = tables_.hook(opened.msg)) {
    const std::size_t size = calls->size;
    *calls = {size,        not_watched,  not_watched, not_watched, send,
              not_watched, send_message, not_watched, not_watched, not_watched};
  }
  if (fi_ops_rma* const calls = tables_.hook(opened.rma)) {
    const std::size_t size = calls->size;
    *calls = {size,        not_watched,   not_watched, read_message, not_watched,
              not_watched, write_message, not_watched, not_watched,  not_watched};
  }
}

void StrictDomain::take(fi_cq_data_entry* entry) {
  rules_.completed(entry->op_context);
  if ((entry->flags & FI_RECV) == 0) return;
  const std::uint64_t whose = entry->data >> 32;
  rules_.received(Endpoints::all().find(static_cast<std::uint32_t>(whose & ~kHasData)));
  if ((whose & kHasData) == 0) entry->flags &= ~std::uint64_t{FI_REMOTE_CQ_DATA};
  entry->data &= 0xffffffffu;
}

void StrictDomain::watch_queue(fid_cq& queue, fi_cq_format format) {
  queues_[&queue] = format;
  fi_ops_cq* const calls = tables_.hook(queue.ops);
  if (calls == nullptr) return;
  calls->read = [](fid_cq* object, void* out, std::size_t capacity) -> ssize_t {
    StrictDomain& owner = domain_of(object->ops);
    const auto lock = owner.lock();
    const std::size_t stride = entry_bytes(owner.queues_.at(object));
    if (!owner.failed_.empty()) return -FI_EAVAIL;
    if (capacity > 0 && !owner.answered_.empty()) {
      const fi_cq_data_entry entry{owner.answered_.front(), FI_RMA | FI_WRITE, 0, nullptr, 0};
      owner.answered_.pop_front();
      std::memcpy(out, &entry, stride);
      return 1;
    }
    std::array<fi_cq_data_entry, 16> entries{};
    const ssize_t count =
        real(object->ops).read(object, entries.data(), std::min(capacity, entries.size()));
    std::size_t told = 0;
    const auto tell = [&](const fi_cq_data_entry& entry) {
      std::memcpy(static_cast<char*>(out) + told++ * stride, &entry, stride);
    };
    for (ssize_t i = 0; i < count; ++i) {
      fi_cq_data_entry& entry = entries[static_cast<std::size_t>(i)];
      owner.take(&entry);
      const bool comes_late = (entry.flags & FI_RECV) != 0 && !owner.persona().orders_sends &&
                              owner.disorder_.keeps(entry);
      if (!comes_late) tell(entry);
    }
    while (told < capacity && (count == -FI_EAGAIN || count >= 0)) {
      const auto late = owner.disorder_.next(count <= 0);
      if (!late) break;
      tell(*late);
    }
    if (told > 0) return static_cast<ssize_t>(told);
    return count > 0 ? -FI_EAGAIN : count;
  };
  calls->readerr = [](fid_cq* object, fi_cq_err_entry* out, std::uint64_t flags) -> ssize_t {
    StrictDomain& owner = domain_of(object->ops);
    const auto lock = owner.lock();
    if (!owner.failed_.empty()) {
      *out = {};
      out->op_context = owner.failed_.front();
      out->flags = FI_RMA | FI_WRITE;
      out->err = FI_EHOSTUNREACH;
      owner.failed_.pop_front();
      return 1;
    }
    const ssize_t count = real(object->ops).readerr(object, out, flags);
    if (count > 0) owner.rules().completed(out->op_context);
    return count;
  };
  calls->sread = [](fid_cq*, void*, std::size_t, const void*, int) -> ssize_t {
    return -FI_ENOSYS;
  };
}

}  // namespace mad::strict
