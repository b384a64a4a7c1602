// Provider: libfabric's objects of one engine, whose calls fail as a test wants them to.
#ifndef TESTS_CONFORMANCE_OFI_PROVIDER_H_
#define TESTS_CONFORMANCE_OFI_PROVIDER_H_

#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "madlike/driver/ofi/fabric.h"

namespace mad {

/// Stands between a driver and its fabric, and must outlive both.  An error is what calls of this
/// name return from now on, as -FI_EAGAIN; 0: they do what they do.
class Provider {
 public:
  explicit Provider(OfiFabric& fabric) {
    hook(fabric.domain()->ops)->endpoint = [](fid_domain* domain, fi_info* info, fid_ep** endpoint,
                                              void* context) {
      const auto& hooked = of(domain->ops);
      hooked.provider->wait_for_host(*info);
      int error = hooked.provider->endpoint;
      if (error == 0) error = hooked.real->endpoint(domain, info, endpoint, context);
      if (error == 0) hooked.provider->hook_endpoint(**endpoint);
      return error;
    };
    hook(fabric.domain()->mr)->reg = [](fid* domain, const void* memory, std::size_t size,
                                        std::uint64_t access, std::uint64_t offset,
                                        std::uint64_t key, std::uint64_t flags, fid_mr** region,
                                        void* context) {
      const auto& hooked = of(reinterpret_cast<fid_domain*>(domain)->mr);
      hooked.provider->registered_bytes += size;
      const int error = hooked.provider->expose;
      return error != 0 ? error
                        : hooked.real->reg(domain, memory, size, access, offset, key, flags, region,
                                           context);
    };
    fi_ops_cq* const completions = hook(fabric.completions()->ops);
    completions->read = [](fid_cq* queue, void* out, std::size_t capacity) -> ssize_t {
      const auto& hooked = of(queue->ops);
      Provider& provider = *hooked.provider;
      fi_cq_msg_entry entry;
      while (provider.holds && hooked.real->read(queue, &entry, 1) == 1) {
        provider.held_.push_back(entry);
      }
      if (provider.holds) return -FI_EAGAIN;
      if (!provider.failed.empty()) return -FI_EAVAIL;
      if (provider.held_.empty()) return hooked.real->read(queue, out, capacity);
      std::memcpy(out, &provider.held_.front(), sizeof(entry));
      provider.held_.pop_front();
      return 1;
    };
    completions->readerr = [](fid_cq* queue, fi_cq_err_entry* out, std::uint64_t flags) -> ssize_t {
      const auto& hooked = of(queue->ops);
      auto& failed = hooked.provider->failed;
      if (failed.empty()) return hooked.real->readerr(queue, out, flags);
      *out = {};
      out->op_context = failed.front();
      out->err = FI_EIO;
      failed.pop_front();
      return 1;
    };
  }

  std::vector<std::byte> slow_to;          // opening an endpoint to this address waits until
  std::atomic<bool> host_answers{false};   // its host answers, for a minute at the most
  std::atomic<int> answers_waited_for{0};  // such waits that are over
  std::size_t registered_bytes = 0;        // ever
  std::size_t without_descriptor = 0;      // packets and writes of memory that is not registered

  int endpoint = 0, enable = 0, connect = 0, accept = 0;
  int expose = 0, send = 0, write = 0;
  std::uint64_t flags = 0;        // of the last packet
  bool connects_nowhere = false;  // connection requests are taken and do not leave
  bool swallows = false;          // packets are taken and do not leave
  std::vector<void*> swallowed;   // their contexts
  std::deque<void*> failed;       // contexts of operations that are to be told of as failed
  bool holds = false;             // completions are not told of yet

 private:
  /// A table of calls that is ours; the table stands first, so that its place tells the rest.
  template <typename Calls>
  struct Hooked {
    Calls calls;
    Calls* real;
    Provider* provider;
  };
  template <typename Calls>
  static const Hooked<Calls>& of(const Calls* calls) {
    return *reinterpret_cast<const Hooked<Calls>*>(calls);
  }
  template <typename Calls>
  Calls* hook(Calls*& place) {
    const std::lock_guard<std::mutex> lock(mutex_);  // endpoints of devices are opened by threads
    const auto made = std::make_shared<Hooked<Calls>>(Hooked<Calls>{*place, place, this});
    tables_.push_back(made);
    return place = &made->calls;
  }

  void wait_for_host(const fi_info& info) {
    const auto* const peer = static_cast<const std::byte*>(info.dest_addr);
    if (peer == nullptr || slow_to.empty()) return;
    if (!std::equal(slow_to.begin(), slow_to.end(), peer, peer + info.dest_addrlen)) return;
    const auto give_up = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (!host_answers && std::chrono::steady_clock::now() < give_up) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    ++answers_waited_for;
  }
  void hook_endpoint(fid_ep& opened) {
    hook(opened.fid.ops)->control = [](fid* object, int command, void* argument) {
      const auto& hooked = of(object->ops);
      const int error = command == FI_ENABLE ? hooked.provider->enable : 0;
      return error != 0 ? error : hooked.real->control(object, command, argument);
    };
    fi_ops_cm* const connections = hook(opened.cm);
    connections->connect = [](fid_ep* ep, const void* address, const void* data, std::size_t size) {
      const auto& hooked = of(ep->cm);
      if (hooked.provider->connects_nowhere) return 0;
      const int error = hooked.provider->connect;
      return error != 0 ? error : hooked.real->connect(ep, address, data, size);
    };
    connections->accept = [](fid_ep* ep, const void* data, std::size_t size) {
      const auto& hooked = of(ep->cm);
      const int error = hooked.real->accept(ep, data, size);  // it frees what there is of a request
      return hooked.provider->accept != 0 ? hooked.provider->accept : error;
    };
    hook(opened.msg)->sendmsg = [](fid_ep* ep, const fi_msg* packet,
                                   std::uint64_t flags) -> ssize_t {
      const auto& hooked = of(ep->msg);
      hooked.provider->flags = flags;
      if ((flags & FI_INJECT) == 0 && (packet->desc == nullptr || packet->desc[0] == nullptr)) {
        ++hooked.provider->without_descriptor;
      }
      if (hooked.provider->swallows) {
        hooked.provider->swallowed.push_back(packet->context);
        return 0;
      }
      const int error = hooked.provider->send;
      return error != 0 ? error : hooked.real->sendmsg(ep, packet, flags);
    };
    hook(opened.rma)->writemsg = [](fid_ep* ep, const fi_msg_rma* packet,
                                    std::uint64_t flags) -> ssize_t {
      const auto& hooked = of(ep->rma);
      if (packet->desc == nullptr || packet->desc[0] == nullptr) {
        ++hooked.provider->without_descriptor;
      }
      const int error = hooked.provider->write;
      return error != 0 ? error : hooked.real->writemsg(ep, packet, flags);
    };
  }

  std::mutex mutex_;
  std::vector<std::shared_ptr<void>> tables_;
  std::deque<fi_cq_msg_entry> held_;
};

}  // namespace mad

#endif  // TESTS_CONFORMANCE_OFI_PROVIDER_H_
