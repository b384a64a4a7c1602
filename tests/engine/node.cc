#include "tests/engine/node.h"

#include <gtest/gtest.h>

#include <thread>
#include <utility>

namespace mad::test {
namespace {

void record_message(void* context, mad_peer* from, std::uint8_t handler, void* header,
                    std::size_t header_bytes, std::uint64_t payload_bytes, mad_incoming* incoming) {
  auto* const node = static_cast<Node*>(context);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(header) % 8, 0u);
  EXPECT_EQ(incoming == nullptr, payload_bytes == 0);
  Arrival arrival{from, handler, std::string(static_cast<char*>(header), header_bytes),
                  payload_bytes, incoming};
  if (node->on_arrival) {
    node->on_arrival(arrival);
  } else {
    node->arrivals.push_back(std::move(arrival));
  }
}

void record_sent(void*, mad_op* op, int status) {
  static_cast<Operation*>(op->context)->finish(status, 0);
}

void record_received(void*, mad_op* op, std::uint64_t bytes, int status) {
  static_cast<Operation*>(op->context)->finish(status, bytes);
}

void record_gone(void* context, mad_peer* peer, int status, const char* why) {
  static_cast<Node*>(context)->departures.push_back({peer, status, why});
}

void finish_tagged(Operation* operation, const mad_arrival* arrival, int status) {
  operation->receive = nullptr;
  operation->matched = arrival != nullptr;
  if (arrival != nullptr) {
    operation->arrival = *arrival;
    operation->value.assign(static_cast<const char*>(arrival->value), arrival->value_bytes);
  }
  operation->finish(status, operation->arrival.received);
}

void record_tagged(void*, mad_op* op, const mad_arrival* arrival, int status) {
  finish_tagged(static_cast<Operation*>(op->context), arrival, status);
}

}  // namespace

Node::Node(const std::string& fabric, const std::function<void(mad_config&)>& tune,
           const std::function<int(const mad_config*, mad_engine**)>& open) {
  mad_config config;
  mad_config_init(&config);
  config.fabric = fabric.c_str();
  if (fabric != "loopback") config.interface = "lo";
  config.callbacks = {record_message, record_sent, record_received, record_gone, record_tagged};
  config.context = this;
  if (tune) tune(config);
  const int result = open(&config, &engine_);
  EXPECT_EQ(result, MAD_SUCCESS) << mad_last_error();
}

Node::~Node() { close(); }

void Node::close() { mad_engine_close(std::exchange(engine_, nullptr)); }

std::vector<unsigned char> Node::address() const {
  std::vector<unsigned char> bytes(MAD_ADDRESS_MAX);
  std::size_t size = bytes.size();
  EXPECT_EQ(mad_engine_address(engine_, bytes.data(), &size), MAD_SUCCESS);
  bytes.resize(size);
  return bytes;
}

mad_peer* Node::peer(const Node& other) {
  const std::vector<unsigned char> address = other.address();
  mad_peer* peer = nullptr;
  EXPECT_EQ(mad_engine_peer(engine_, address.data(), address.size(), &peer), MAD_SUCCESS)
      << mad_last_error();
  return peer;
}

int Node::progress() {
  int events = 0;
  EXPECT_EQ(mad_engine_progress(engine_, &events), MAD_SUCCESS);
  return events;
}

void Node::send(mad_peer* to, const std::string& header, const void* base, std::uint64_t count,
                const mad_type* type, mad_path path, Operation* operation, std::uint8_t handler) {
  operation->started(mad_send(engine_, to, handler, header.data(), header.size(), base, count, type,
                              path, &operation->slot));
}

void Node::receive(mad_incoming* incoming, void* base, std::uint64_t count, const mad_type* type,
                   mad_path path, Operation* operation) {
  std::uint64_t received = 0;
  const int result =
      mad_recv(engine_, incoming, base, count, type, path, &operation->slot, &received);
  if (result != MAD_IN_PROGRESS) operation->finish(result, received);
}

void Node::send_tagged(mad_peer* to, const mad_envelope& envelope, const void* base,
                       std::uint64_t count, const mad_type* type, mad_path path,
                       Operation* operation, std::uint32_t flags, const mad_extension* extension) {
  operation->started(mad_tagged_send(engine_, to, &envelope, flags, extension, base, count, type,
                                     path, &operation->slot));
}

void Node::receive_tagged(const mad_envelope& wanted, void* base, std::uint64_t count,
                          const mad_type* type, mad_path path, Operation* operation) {
  mad_arrival arrival{};
  const int result = mad_tagged_receive(engine_, &wanted, base, count, type, path, &operation->slot,
                                        &operation->receive, &arrival);
  if (result != MAD_IN_PROGRESS) finish_tagged(operation, &arrival, result);
}

void Node::receive_claimed(mad_message* message, void* base, std::uint64_t count,
                           const mad_type* type, mad_path path, Operation* operation) {
  mad_arrival arrival{};
  const int result = mad_message_receive(engine_, message, base, count, type, path,
                                         &operation->slot, &operation->receive, &arrival);
  if (result != MAD_IN_PROGRESS) finish_tagged(operation, &arrival, result);
}

Arrival Node::take() {
  Arrival arrival = std::move(arrivals.front());
  arrivals.pop_front();
  return arrival;
}

bool progress_until(std::initializer_list<Node*> nodes, const std::function<bool()>& reached,
                    std::chrono::seconds limit) {
  const auto deadline = std::chrono::steady_clock::now() + limit;
  while (!reached()) {
    for (Node* node : nodes) node->progress();
    if (std::chrono::steady_clock::now() > deadline) return false;
  }
  return true;
}

void close_together(const std::vector<Node*>& nodes) {
  std::vector<std::thread> threads;
  for (Node* const node : nodes) threads.emplace_back([node] { node->close(); });
  for (std::thread& thread : threads) thread.join();
}

TypeHandle blocks(std::uint64_t count, std::uint64_t block, std::int64_t stride) {
  mad_type* byte = nullptr;
  mad_type* type = nullptr;
  EXPECT_EQ(mad_type_bytes(1, &byte), MAD_SUCCESS);
  EXPECT_EQ(mad_type_vector(count, block, stride, byte, &type), MAD_SUCCESS);
  mad_type_release(byte);
  EXPECT_EQ(mad_type_commit(type), MAD_SUCCESS) << mad_last_error();
  return TypeHandle(type);
}

}  // namespace mad::test
