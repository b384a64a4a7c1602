// ForeignReceives: what an engine receives from peers whose machines represent data otherwise.
//
// Receiver makes right: such a peer sends what it has, and what is received into a described type
// is converted fragment by fragment as it arrives.  This is the receiving way of links that differ,
// beside that of the others, which pays nothing for it.  Bytes without a type are the caller's.
#ifndef NETMOD_ABI_FOREIGN_RECEIVES_H_
#define NETMOD_ABI_FOREIGN_RECEIVES_H_

#include <cstdint>
#include <list>
#include <memory>

#include "datatype_path/convert/architecture.h"
#include "datatype_path/convert/conversion_plans.h"
#include "datatype_path/transfer/converting_sink.h"
#include "madlike/base/status.h"
#include "madlike/message/messenger.h"
#include "madlike/message/session/operations.h"
#include "netmod/abi/mad.h"
#include "netmod/abi/payload.h"
#include "netmod/abi/slab_pool.h"
#include "netmod/abi/tagged_messages.h"
#include "netmod/abi/trace.h"

namespace mad {

using ConversionPlanPtr = std::shared_ptr<const ConversionPlan>;

struct ForeignReceive final : IncomingOperation {
  ForeignReceive(mad_engine* owner, mad_op* slot, mad_receive* its_receive,
                 const ConversionPlanPtr& its_plan, const Payload& payload)
      : engine(owner),
        op(slot),
        receive(its_receive),
        plan(its_plan),
        sink(its_plan, payload.base, payload.count) {}
  void finished(std::uint64_t bytes, const Status& status) override;

  mad_engine* engine;
  mad_op* op;
  mad_receive* receive;  // of a tagged message; else null
  ConversionPlanPtr plan;
  ConvertingSink sink;
  Trace::Message traced;
};

class ForeignReceives {
 public:
  explicit ForeignReceives(mad_engine& engine) : engine_(engine) {}

  /// A peer's first word: kProtocol or kVersion if no machine is described by it.
  Status greeted(Segment greeting);
  /// The machine of a foreign peer, which is known since it greeted.
  const Architecture* machine_of(const Endpoint& foreign) const;

  Result<ConversionPlanPtr> plan(const TypeDescPtr& type, const Architecture& machine) {
    return plans_.find(type, machine);
  }

  /// As mad_engine::receive(), of a message from a foreign peer into a described type; what
  /// `receive` (or null) says of the message's length is from then on what it is here.
  Status receive(const mad_incoming& wanted, const Payload& payload, mad_path path, mad_op* op,
                 mad_receive* receive, std::uint64_t* received);
  /// The payload of one in flight is in place, or will not be.
  void finish(ForeignReceive& operation, std::uint64_t bytes, const Status& status);
  /// The engine ends: those in flight get back their slots.
  void give_back(const Status& why);

 private:
  struct Machine {
    Architecture::Encoded greeting;
    Architecture architecture;
  };
  const Architecture* find(Segment greeting) const;

  mad_engine& engine_;
  std::list<Machine> machines_;  // that peers have; a few
  ConversionPlans plans_;
  SlabPool<ForeignReceive> receives_;
};

}  // namespace mad

#endif  // NETMOD_ABI_FOREIGN_RECEIVES_H_
