#include "netmod/abi/engine.h"

#include <sys/resource.h>

#include <algorithm>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "datatype_path/cursor/cursor.h"
#include "madlike/base/copy_bytes.h"
#include "madlike/base/sentence.h"
#include "madlike/message/session/chunk.h"
#include "madlike/message/wire.h"
#include "netmod/abi/costs_file.h"
#include "netmod/abi/errors.h"
#include "netmod/abi/fabric.h"

using mad::Status;
using mad::StatusCode;

namespace {

constexpr int kGoodbyeMilliseconds = 2000;

mad::Result<mad::EngineAddress> address_on(
    const std::vector<std::unique_ptr<mad::Driver>>& fabrics) {
  mad::EngineAddress address;
  address.node = mad::this_node();
  for (const auto& fabric : fabrics) {
    const std::string& name = fabric->caps().name;
    if (name.size() > mad::EngineAddress::kFabricMax) {
      return Status(StatusCode::kInvalidArgument,
                    "the name of the fabric '" + name + "' is longer than " +
                        std::to_string(mad::EngineAddress::kFabricMax) + " bytes");
    }
    address.fabrics.push_back({name, fabric->address()});
  }
  const std::size_t size = address.encode().size();
  if (size <= MAD_ADDRESS_MAX) return address;
  return Status(StatusCode::kInvalidArgument,
                "an engine's addresses on the fabrics '" + address.fabric_names() + "' take " +
                    std::to_string(size) + " bytes, and there is room for " +
                    std::to_string(MAD_ADDRESS_MAX) + "; name fewer fabrics");
}

std::vector<bool> beyond_host(const std::vector<std::unique_ptr<mad::Driver>>& drivers) {
  std::vector<bool> out;
  out.reserve(drivers.size());
  for (const auto& driver : drivers) out.push_back(driver->caps().beyond_host);
  return out;
}

mad::MessengerConfig messenger_config(const mad_config& config, const mad::Architecture& told) {
  mad::MessengerConfig out;
  const mad::Architecture::Encoded greeting = told.encode();
  out.greeting.assign(greeting.begin(), greeting.end());
  if (config.eager_limit != 0) out.eager_limit = config.eager_limit;
  if (config.staging_bytes != 0) out.staging_bytes = config.staging_bytes;
  out.connect_timeout = std::chrono::seconds(config.connect_timeout);
  out.checksum = config.checksum != 0;
  return out;
}

// Every peer takes one file or more.
void raise_file_limit() {
  rlimit files{};
  if (getrlimit(RLIMIT_NOFILE, &files) != 0) return;
  files.rlim_cur = files.rlim_max;
  (void)setrlimit(RLIMIT_NOFILE, &files);
}

mad::Tuning tuning_of(const mad_config& config) {
  mad::Tuning out;
  out.flush_threshold = config.flush_threshold;
  if (config.max_blocks != 0) out.max_blocks = config.max_blocks;
  return out;
}

mad::SessionTuning session_tuning(const mad_config& config) {
  mad::SessionTuning out;
  if (config.flush_threshold != 0) out.chunk_bytes = config.flush_threshold;
  return out;
}

// Path off: the caller packed, and what is left is one run.
mad::Mode mode_of(mad_path path) {
  switch (path) {
    case MAD_PATH_GATHER:
      return mad::Mode::kGather;
    case MAD_PATH_HYBRID:
      return mad::Mode::kHybrid;
    case MAD_PATH_PIPELINE:
      return mad::Mode::kPipeline;
    case MAD_PATH_PACK:
      return mad::Mode::kPack;
    default:
      return mad::Mode::kAuto;
  }
}

// Bytes without a layout, and none, are one run in every mode: there is nothing to pack.
mad::Plan send_plan(const mad::Policy& policy, const mad::Payload& payload, mad_path path) {
  if (payload.type == nullptr || payload.bytes == 0) return policy.send_run(payload.bytes);
  return policy.send(payload.program().shape(), payload.count, mode_of(path));
}

mad::Plan receive_plan(const mad::Policy& policy, const mad::Payload& payload, mad_path path) {
  if (payload.type == nullptr) return mad::Policy::receive_run();
  return policy.receive(payload.program().shape(), payload.count, mode_of(path));
}

bool is_one_run(const mad::Payload& payload) {
  return payload.type == nullptr || payload.program().shape().is_one_run(payload.count);
}

bool is_collected(const mad::Payload& payload, mad_path path) {
  return payload.type != nullptr && path == MAD_PATH_PACK;
}

// The path of a message that is copied at once, on its way out or in, whatever its runs.  A plan of
// another path than auto says how far that can be had.
mad::Path path_of_copy(const mad::Payload& payload) {
  return is_one_run(payload) ? mad::Path::kContiguous : mad::Path::kPipeline;
}
mad::Path path_of_copy_in(const mad::Policy& policy, const mad::Payload& payload, mad_path path) {
  return path == MAD_PATH_AUTO ? path_of_copy(payload) : receive_plan(policy, payload, path).path;
}

// What a trace tells of a message.
mad::Trace::Decision decision_of(const mad::Payload& payload, mad_path path, const mad::Plan& plan,
                                 const mad_op& op) {
  mad::Trace::Decision decision;
  decision.group = op.group;
  if (payload.type != nullptr && !payload.type->foreign) decision.type = payload.type->desc.get();
  decision.count = payload.count;
  decision.bytes = payload.bytes;
  decision.asked = path;
  decision.plan = plan;
  decision.taken = mad::path_taken(plan.path, path);
  return decision;
}

void predict(const mad::Policy& policy, const mad::Payload& payload,
             mad::Trace::Decision* decision) {
  mad::Shape shape;
  shape.bytes = 1;  // bytes without a layout touch
  if (payload.type != nullptr) shape = payload.program().shape();
  decision->work = policy.work(shape, payload.count, decision->plan);
  decision->predicted_ns = policy.predicted_ns(shape, payload.count, decision->plan);
}

// The first `bytes` of a payload that is planned as one run.
mad::Segment run_of(const mad::Payload& payload, std::uint64_t bytes) {
  const auto size = static_cast<std::size_t>(bytes);
  if (payload.type == nullptr || size == 0) return {payload.base, size};
  mad::Cursor cursor(payload.program(), payload.base, payload.count);
  return {cursor.next_run(size).data, size};
}

// Places the first bytes of a payload; not by path pack, which collects them first.
void place(mad::Segment bytes, const mad::Payload& payload) {
  if (payload.type == nullptr) {
    mad::copy_bytes(payload.base, bytes.data, bytes.size);
  } else {
    mad::Cursor(payload.program(), payload.base, payload.count).unpack(bytes.data, bytes.size);
  }
}

Status no_memory_to_receive(std::uint64_t bytes, const mad::Plan& plan) {
  return mad::with_sentence(StatusCode::kNoMemory, [&] {
    return "no memory to receive " + std::to_string(bytes) + " bytes by path " +
           std::string(to_string(plan.path));
  });
}

template <typename Pool, typename Operation>
auto held_by(Pool* pool, Operation* operation) {
  const auto give_back = [pool](Operation* unused) { pool->release(unused); };
  return std::unique_ptr<Operation, decltype(give_back)>(operation, give_back);
}

}  // namespace

mad::Result<std::unique_ptr<mad_engine>> mad_engine::open(const mad_config& config,
                                                          const mad::Architecture& told) {
  raise_file_limit();
  mad::FabricOptions options;
  if (config.interface != nullptr) options.interface = config.interface;
  options.silence_timeout = std::chrono::milliseconds(config.silence_ms);
  options.linger = std::chrono::milliseconds(config.goodbye_ms);
  options.common_secret = config.common_secret;
  if (config.costs_file != nullptr) options.costs_file = config.costs_file;
  auto fabrics =
      mad::open_fabrics(config.fabric != nullptr ? config.fabric : mad::kDefaultFabric, options);
  if (!fabrics.ok()) return fabrics.status();
  std::vector<std::unique_ptr<mad::Driver>> drivers = std::move(*fabrics);
  auto address = address_on(drivers);
  if (!address.ok()) return address.status();
  drivers.push_back(mad::open_self_fabric());
  const mad::Tuning tuning = tuning_of(config);
  std::vector<Policies> policies;
  for (const auto& driver : drivers) {
    Policies& of_driver = policies.emplace_back();
    for (const mad::LinkCaps& link : driver->caps().links) {
      auto costs = mad::read_costs(options.costs_file, link.prices);
      if (!costs.ok()) return costs.status();
      of_driver.emplace_back(link, costs.value(), tuning);
    }
  }
  std::unique_ptr<mad_engine> engine(
      new mad_engine(config, told, std::move(*address), std::move(drivers), std::move(policies)));
  engine->trace_ = mad::Trace::from_environment(engine->fabric_names());
  return engine;
}

mad_engine::mad_engine(const mad_config& config, const mad::Architecture& told,
                       mad::EngineAddress address,
                       std::vector<std::unique_ptr<mad::Driver>> drivers,
                       std::vector<Policies> policies)
    : callbacks_(config.callbacks),
      context_(config.context),
      checks_(config.checksum != 0),
      policies_(std::move(policies)),
      peers_(this, std::move(address), beyond_host(drivers), drivers.back()->address()),
      fabric_names_(peers_.own().fabric_names()),
      tagged_(*this, config.eager_limit != 0
                         ? config.eager_limit
                         : mad::default_eager_limit(drivers.back()->caps().links.front())) {
  for (const auto& driver : drivers) driver->watched_by(&epoll_sets_);
  auto& events = static_cast<mad::MessageEvents&>(*this);
  messenger_ =
      std::make_unique<mad::Messenger>(messenger_config(config, told), events, std::move(drivers));
  sessions_ = std::make_unique<mad::SessionHub>(*messenger_, session_tuning(config));
}

mad_engine::~mad_engine() {
  closing_ = true;
  (void)messenger_->close(kGoodbyeMilliseconds);  // what did not leave is given back below
  messenger_.reset();
  give_back_operations();
  if (trace_ != nullptr) trace_->summarize();
}

// Callers get back every slot, also those of messages that never left.
void mad_engine::give_back_operations() {
  const Status closed(StatusCode::kClosed, "the engine was closed");
  sends_.for_each([&](mad::SendOperation& operation) { operation.finished(closed); });
  receives_.for_each([&](mad::ReceiveOperation& operation) { operation.finished(0, closed); });
  foreign_.give_back(closed);
  tagged_.give_back(closed);
}

Status mad_engine::send_header(mad_peer& to, std::uint8_t handler, mad::Segment header) {
  Status status = messenger_->send_header(*to.endpoint, handler, header);
  if (!status.error()) ++counters_.headers;
  return status;
}

Status mad_engine::send(mad_peer& to, std::uint8_t handler, mad::Segment header,
                        const mad::Payload& payload, mad_path path, mad_op* op, bool may_wait) {
  const mad::Plan plan = send_plan(policy(to), payload, path);
  Status status = send_at_once(to, handler, header, payload, path, plan);
  if (!status.again()) return status;
  return send_operation(to, handler, header, may_wait ? Waits::kForOthers : Waits::kForNobody,
                        payload, path, plan, op);
}

Status mad_engine::send_tagged(mad_peer& to, const mad::TaggedHeader& header, bool answered,
                               const mad::Payload& payload, mad_path path, mad_op* op) {
  if (is_self(to)) return tagged_.send_to_self(header, answered, payload, op);
  if (op == nullptr) {
    if (answered) return StatusCode::kAgain;
    const bool sent = payload.type == nullptr
                          ? send_short(to, header, run_of(payload, payload.bytes), path)
                          : send_short(to, header, payload, path);
    return sent ? StatusCode::kOk : StatusCode::kAgain;
  }
  std::byte encoded[mad::kMostTaggedHeaderBytes];
  mad::encode_tagged_header(header, encoded);
  const mad::Plan plan = send_plan(policy(to), payload, path);
  return send_operation(to, mad::kTaggedHandler, {encoded, mad::bytes_of(header)},
                        answered ? Waits::kForReceiver : Waits::kForNobody, payload, path, plan,
                        op);
}

// It needs no plan, but to say what was asked for: all of it is copied to where it leaves from.
// Where no memory is lent, who asked for a path gets it.
bool mad_engine::send_short(mad_peer& to, const mad::TaggedHeader& header,
                            const mad::Payload& layout, mad_path path) {
  if (layout.bytes == 0) return send_short(to, header, mad::Segment(), path);
  if (is_self(to)) return tagged_.send_to_self(header, false, layout, nullptr).ok();
  const mad::BlockProgram& program = layout.program();
  const bool one_run = program.shape().is_one_run(layout.count);
  const bool copies =
      path == MAD_PATH_AUTO || (path != MAD_PATH_PACK && mad::Messenger::is_lent(*to.endpoint));
  const bool may_be = trace_ == nullptr && copies &&
                      layout.bytes < mad::Messenger::max_short(*to.endpoint, one_run);
  if (!may_be) return false;
  const mad::LayoutPayload payload(program, layout.base, layout.count);
  if (!messenger_->send_short(*to.endpoint, header, payload)) return false;
  const mad::Path taken =
      path == MAD_PATH_AUTO ? path_of_copy(layout) : send_plan(policy(to), layout, path).path;
  count_send(taken, path, layout.bytes);
  return true;
}

Status mad_engine::send_operation(mad_peer& to, std::uint8_t handler, mad::Segment header,
                                  Waits waits, const mad::Payload& payload, mad_path path,
                                  const mad::Plan& plan, mad_op* op) {
  const bool one_run = plan.path == mad::Path::kContiguous;
  auto operation = held_by(&sends_, sends_.acquire(this, op));
  if (trace_ != nullptr && payload.bytes > 0) {
    operation->traced = trace_send(to, payload, path, plan, *op);
  }
  operation->answered = waits == Waits::kForReceiver;
  operation->may_wait = waits == Waits::kForOthers;
  operation->payload_bytes = payload.bytes;
  operation->flush_bytes = plan.flush_bytes;
  const bool alone = one_run || plan.path == mad::Path::kPack;
  operation->run_bytes = alone ? UINT64_MAX : payload.program().shape().mean_run();
  if (one_run) {
    const mad::Segment run = run_of(payload, payload.bytes);
    operation->run = run.data;
    operation->source = &operation->transfer.start_run(run, plan.reference_from);
  } else {
    operation->source =
        &operation->transfer.start_layout(payload.type->program, payload.base, payload.count, plan);
  }
  Status status = messenger_->send(*to.endpoint, handler, header, *operation);
  if (status.error()) return status;
  count_send(plan.path, path, payload.bytes);
  if (status.in_progress()) {
    (void)operation.release();  // finish_send() gives it back
  } else if (trace_ != nullptr) {
    trace_->done(operation->traced, true);
  }
  return status;
}

mad::Result<mad_region*> mad_engine::share(mad::Segment memory) {
  for (std::size_t fabric = 0; fabric < fabrics() && !checks_; ++fabric) {
    const mad::DriverCaps& its = caps(fabric);
    if (!its.one_sided || its.name.size() >= sizeof(mad_region_key::fabric)) continue;
    auto region = std::make_unique<mad_region>();
    regions_.reserve(regions_.size() + 1);
    const auto token = messenger_->driver(fabric).share(memory);
    if (!token.ok()) return token.status();
    region->fabric = fabric;
    region->token = *token;
    region->key = {token->address, token->key, {}};
    its.name.copy(region->key.fabric, its.name.size());
    regions_.push_back(std::move(region));
    return regions_.back().get();
  }
  return Status(StatusCode::kAgain);
}

void mad_engine::unshare(const mad_region& region) {
  messenger_->driver(region.fabric).unshare(region.token);
  const auto is_it = [&](const std::unique_ptr<mad_region>& each) { return each.get() == &region; };
  regions_.erase(std::remove_if(regions_.begin(), regions_.end(), is_it), regions_.end());
}

Status mad_engine::put(mad_peer& to, const mad_region_key& memory, std::uint64_t offset,
                       mad::Segment from, mad_op* op) {
  mad::SendOperation& operation = *sends_.acquire(this, op);
  operation.payload_bytes = from.size;
  operation.source =
      &operation.transfer.start_run(from, policy(to).send_run(from.size).reference_from);
  return messenger_->put(*to.endpoint, {memory.address, memory.key}, offset, operation);
}

Status mad_engine::get(mad_peer& from, const mad_region_key& memory, std::uint64_t offset,
                       mad::Segment to, mad_op* op) {
  mad::SendOperation& operation = *sends_.acquire(this, op);
  return messenger_->get(*from.endpoint, {memory.address, memory.key}, offset, to, operation);
}

// kAgain: not in this way.
Status mad_engine::send_at_once(mad_peer& to, std::uint8_t handler, mad::Segment header,
                                const mad::Payload& payload, mad_path path, const mad::Plan& plan) {
  const bool one_run = plan.path == mad::Path::kContiguous;
  const bool small = payload.bytes < mad::Messenger::max_at_once(*to.endpoint, one_run);
  if (!small || trace_ != nullptr || plan.path == mad::Path::kPack) return StatusCode::kAgain;
  Status status;
  if (one_run) {
    mad::RunSource source(run_of(payload, payload.bytes), plan.reference_from);
    status = messenger_->send_at_once(*to.endpoint, handler, header, source, payload.bytes);
  } else {
    mad::LayoutSource source(payload.program(), payload.base, payload.count, plan.reference_from);
    status = messenger_->send_at_once(*to.endpoint, handler, header, source, payload.bytes,
                                      payload.program().shape().mean_run());
  }
  if (status.ok()) count_send(plan.path, path, payload.bytes);
  return status;
}

mad::Trace::Message mad_engine::trace_send(const mad_peer& to, const mad::Payload& payload,
                                           mad_path path, const mad::Plan& plan, const mad_op& op) {
  mad::Trace::Decision decision = decision_of(payload, path, plan, op);
  decision.peer = to.number;
  predict(policy(to), payload, &decision);
  return trace_->decided(decision);
}

Status mad_engine::receive(mad_incoming* incoming, const mad::Payload& payload, mad_path path,
                           mad_op* op, std::uint64_t* received) {
  const mad_incoming wanted = *incoming;
  incoming_.release(incoming);
  return receive_message(wanted, payload, path, op, nullptr, received);
}

Status mad_engine::receive_tagged(const mad_incoming& incoming, mad_receive& receive,
                                  std::uint64_t* received) {
  try {
    return receive_message(incoming, receive.payload.get(), receive.path, receive.op, &receive,
                           received);
  } catch (const std::bad_alloc&) {  // before anything was done with the message
    discard(incoming);
    return StatusCode::kNoMemory;
  }
}

Status mad_engine::receive_message(mad_incoming wanted, const mad::Payload& payload, mad_path path,
                                   mad_op* op, mad_receive* receive, std::uint64_t* received) {
  if (wanted.foreign != nullptr && payload.type != nullptr && !payload.type->foreign) {
    return foreign_.receive(wanted, payload, path, op, receive, received);
  }
  wanted.payload_bytes = std::min(wanted.payload_bytes, payload.bytes);
  const std::uint64_t bytes = wanted.payload_bytes;
  if (bytes == 0) {
    messenger_->discard(*wanted.message);
    *received = 0;
    return {};
  }
  const mad::Segment here = mad::payload_here(*wanted.message);
  if (here.size >= bytes && !is_collected(payload, path) && trace_ == nullptr) {
    place({here.data, static_cast<std::size_t>(bytes)}, payload);
    messenger_->discard(*wanted.message);
    count_receive(path_of_copy_in(*wanted.policy, payload, path), path, bytes);
    *received = bytes;
    return {};
  }
  const mad::Plan plan = receive_plan(*wanted.policy, payload, path);
  Status status = start_receive(wanted, payload, path, plan, op, receive);
  if (status.error()) return status;
  count_receive(plan.path, path, bytes);
  if (status.ok()) *received = bytes;
  return status;
}

Status mad_engine::place_layout(mad::Endpoint& from, mad::Segment bytes,
                                const mad::Payload& payload, mad_path path) {
  const mad::Policy& its_policy = policy(peers_.of(from));
  if (is_collected(payload, path)) {
    Status collected = place_collected(its_policy, bytes, payload, path);
    if (collected.error()) return collected;
  } else {
    place(bytes, payload);
  }
  count_receive(path_of_copy_in(its_policy, payload, path), path, bytes.size);
  return {};
}

bool mad_engine::place_offered(std::uint64_t bytes, mad::OfferedPayload& offered,
                               const mad::Payload& payload, mad_path path) {
  const bool one_run = is_one_run(payload) && !is_collected(payload, path);
  if (!one_run || !offered.read(run_of(payload, bytes).data)) return false;
  count_receive(mad::Path::kContiguous, path, bytes);
  return true;
}

Status mad_engine::place_collected(const mad::Policy& policy, mad::Segment bytes,
                                   const mad::Payload& payload, mad_path path) {
  const mad::Plan plan = receive_plan(policy, payload, path);
  try {
    mad::ReceiveTransfer transfer;
    transfer
        .start_layout(payload.type->program, payload.base, payload.count, bytes.size, plan, nullptr)
        .place(0, bytes);
    transfer.finish(bytes.size);
  } catch (const std::bad_alloc&) {
    return no_memory_to_receive(bytes.size, plan);
  }
  return {};
}

Status mad_engine::start_receive(const mad_incoming& wanted, const mad::Payload& payload,
                                 mad_path path, const mad::Plan& plan, mad_op* op,
                                 mad_receive* receive) {
  mad::IncomingMessage& message = *wanted.message;
  const std::uint64_t bytes = wanted.payload_bytes;
  auto operation = held_by(&receives_, static_cast<mad::ReceiveOperation*>(nullptr));
  mad::PayloadSink* sink = nullptr;
  try {
    operation.reset(receives_.acquire(this, op, receive));
    operation->traced = trace_receive(wanted, payload, path, plan, *op, bytes);
    sink = plan.path == mad::Path::kContiguous
               ? &operation->transfer.start_run(run_of(payload, bytes))
               : &operation->transfer.start_layout(payload.type->program, payload.base,
                                                   payload.count, bytes, plan, &lines_);
  } catch (const std::bad_alloc&) {
    messenger_->discard(message);
    return no_memory_to_receive(bytes, plan);
  }
  Status status = messenger_->accept(message, *sink, bytes, operation->as_context());
  if (status.in_progress()) {
    (void)operation.release();  // finish_receive() gives it back
  } else if (status.ok()) {
    operation->transfer.finish(bytes);
    trace_received(operation->traced, true);
  }
  return status;
}

mad::Trace::Message mad_engine::trace_receive(const mad_incoming& wanted,
                                              const mad::Payload& payload, mad_path path,
                                              const mad::Plan& plan, const mad_op& op,
                                              std::uint64_t bytes) {
  if (trace_ == nullptr) return {};
  mad::Trace::Decision decision = decision_of(payload, path, plan, op);
  decision.way = mad::Trace::Way::kReceive;
  decision.peer = wanted.peer;
  decision.bytes = bytes;
  return trace_->decided(decision);
}

void mad_engine::discard(mad_incoming* incoming) {
  const mad_incoming unwanted = *incoming;
  incoming_.release(incoming);
  discard(unwanted);
}

void mad_engine::discard(const mad_incoming& incoming) {
  if (!closing_) messenger_->discard(*incoming.message);
}

const mad_counters& mad_engine::counters() {
  const mad::MessageCounters& of_messages = messenger_->counters();
  counters_.packets_sent = counters_.packets_received = 0;
  for (const mad::DriverCounters& of_driver : of_messages.drivers) {
    counters_.packets_sent += of_driver.packets_sent;
    counters_.packets_received += of_driver.packets_received;
  }
  counters_.staged_bytes = of_messages.staged_bytes;
  counters_.referenced_bytes = of_messages.referenced_bytes;
  counters_.written_bytes = of_messages.written_bytes;
  counters_.unexpected_bytes = of_messages.unexpected_bytes + tagged_.own().unexpected_bytes();
  counters_.checked_bytes = of_messages.checked_bytes;
  counters_.waiting_receives = tagged_.waiting_receives();
  counters_.waiting_messages = tagged_.waiting_messages();
  counters_.self_messages = tagged_.own().messages();
  counters_.self_bytes = tagged_.own().bytes();
  return counters_;
}

mad_fabric_counters mad_engine::fabric_counters(std::size_t fabric) const {
  const mad::DriverCounters& counters = messenger_->counters().drivers[fabric];
  return {address().fabrics[fabric].fabric.c_str(), counters.packets_sent, counters.bytes_sent,
          counters.packets_received, counters.bytes_received};
}

Status mad_engine::on_greeting(mad::Endpoint& /*from*/, mad::Segment greeting) {
  return foreign_.greeted(greeting);
}

mad_incoming mad_engine::arrived_from(mad::Endpoint& from, mad::IncomingMessage* message,
                                      std::uint64_t payload_bytes) {
  const mad_peer& peer = peers_.of(from);
  return {message, payload_bytes, peer.number, &policy(peer), foreign_machine(from)};
}

// What is traced goes the long way.
bool mad_engine::take(mad::Endpoint& from, const mad::TaggedHeader& header, mad::Segment payload) {
  return !closing_ && trace_ == nullptr && tagged_.take(from, header, payload);
}

bool mad_engine::take_offered(mad::Endpoint& from, const mad::TaggedHeader& header,
                              std::uint64_t bytes, mad::OfferedPayload& payload) {
  return !closing_ && trace_ == nullptr && tagged_.take_offered(from, header, bytes, payload);
}

void mad_engine::on_message(mad::Endpoint& from, std::uint8_t handler, mad::Segment header,
                            std::uint64_t payload_bytes, mad::IncomingMessage* message) {
  if (handler == mad::kMadeleineHandler) {
    (void)peers_.of(from);  // it may be gone when its message is unpacked
    sessions_->on_message(from, header, payload_bytes, message);
    return;
  }
  const bool tagged = handler == mad::kTaggedHandler;
  if (closing_ || (callbacks_.on_message == nullptr && !tagged)) {
    if (message != nullptr) messenger_->discard(*message);
    return;
  }
  mad_peer& peer = peers_.of(from);
  if (tagged) {
    mad::TaggedHeader its_header;
    if (!mad::decode_tagged_header(header, &its_header)) return changed_header(peer, *message);
    return tagged_.arrived(from, its_header, arrived_from(from, message, payload_bytes));
  }
  mad_incoming* const incoming =
      message == nullptr ? nullptr : incoming_.acquire(arrived_from(from, message, payload_bytes));
  const mad::InCallback scope(&callback_depth_);
  callbacks_.on_message(context_, &peer, handler, header.data, header.size, payload_bytes,
                        incoming);
}

// The messenger read it, too: since then the peer has written where the packet is.
void mad_engine::changed_header(mad_peer& from, mad::IncomingMessage& message) {
  reject(from, "the peer changed a tagged message's header after it had sent it");
  messenger_->discard(message);
}

void mad_engine::on_sent(mad::OutgoingMessage& message, const Status& status) {
  static_cast<mad::OutgoingOperation&>(message).finished(status);
}

void mad_engine::on_received(void* context, std::uint64_t bytes, const Status& status) {
  mad::IncomingOperation::from_context(context).finished(bytes, status);
}

void mad::SendOperation::finished(const Status& status) { engine->finish_send(*this, status); }

void mad::ReceiveOperation::finished(std::uint64_t bytes, const Status& status) {
  engine->finish_receive(*this, bytes, status);
}

// The operation is given back before the callback, which may start the next one with the same slot.
void mad_engine::finish_send(mad::SendOperation& operation, const Status& status) {
  mad_op* const op = operation.op;
  if (trace_ != nullptr && status.ok()) trace_->done(operation.traced, false);
  sends_.release(&operation);
  tell_sent(op, status);
}

void mad_engine::tell_sent(mad_op* op, const Status& status) {
  const int code = mad::to_abi(status);
  if (callbacks_.on_sent == nullptr) return;
  const mad::InCallback scope(&callback_depth_);
  callbacks_.on_sent(context_, op, code);
}

void mad_engine::finish_receive(mad::ReceiveOperation& operation, std::uint64_t bytes,
                                const Status& status) {
  mad_op* const op = operation.op;
  mad_receive* const receive = operation.receive;
  if (status.ok()) {
    operation.transfer.finish(bytes);
    trace_received(operation.traced, false);
  }
  receives_.release(&operation);
  tell_received(op, receive, bytes, status);
}

void mad_engine::tell_received(mad_op* op, mad_receive* receive, std::uint64_t bytes,
                               const Status& status) {
  if (receive != nullptr) return tagged_.finished(*receive, bytes, status);
  const int code = mad::to_abi(status);
  if (callbacks_.on_received == nullptr) return;
  const mad::InCallback scope(&callback_depth_);
  callbacks_.on_received(context_, op, bytes, code);
}

// A peer that the caller never heard of goes unannounced; if it is asked for later, it is connected
// anew.
void mad_engine::on_peer_gone(mad::Endpoint& endpoint, const Status& status) {
  sessions_->on_peer_gone(endpoint, status);
  auto* const peer = static_cast<mad_peer*>(mad::user_data(endpoint));
  if (peer != nullptr) peers_.gone(*peer, mad::to_mad_status(status.code()));
  gone_.push_back(&endpoint);
  release_gone();
  if (peer == nullptr) return;
  if (closing_ || callbacks_.on_peer_gone == nullptr) return;
  const std::string why(status.message());
  const mad::InCallback scope(&callback_depth_);
  callbacks_.on_peer_gone(context_, peer, peer->status, why.c_str());
}

// An endpoint whose messages are still unpacked waits here for the next one.
void mad_engine::release_gone() {
  const auto released = [this](mad::Endpoint* endpoint) {
    if (sessions_->names(*endpoint)) return false;
    peers_.forget(*endpoint);
    messenger_->release(*endpoint);
    return true;
  };
  gone_.erase(std::remove_if(gone_.begin(), gone_.end(), released), gone_.end());
}
