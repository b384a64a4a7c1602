// What is copied from one layout into another, and what is kept of messages that wait.
#include "netmod/abi/self_messages.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <string>
#include <vector>

#include "tests/support/random_type.h"
#include "tests/support/sample.h"

namespace mad {
namespace {

using test::Arena;
using test::RandomTypeOptions;
using test::RandomTypes;
using test::Sample;

constexpr std::uint64_t kLongest = 1000;

Payload run_of(void* base, std::size_t bytes) {
  Payload payload;
  payload.base = base;
  payload.count = payload.bytes = bytes;
  return payload;
}

/// What a Sample is to the C interface.
struct Layout {
  explicit Layout(const Sample& sample)
      : type(sample.made.type, sample.program), count(sample.count) {}
  Payload at(void* base) const { return {base, count, &type, count * type.program->size()}; }

  const mad_type type;
  const std::uint64_t count;
};

TEST(SelfMessages, AreCopiedFromLayoutToLayout) {
  RandomTypes random(test::seed_from_environment(7));
  RandomTypeOptions options;
  options.overlaps = false;
  for (int n = 0; n < 500; ++n) {
    Sample from(random, options), into(random, options);
    SCOPED_TRACE(from.text() + into.text());
    SelfMessages messages(kLongest);
    const std::size_t bytes = std::min(from.packed.size(), into.packed.size());
    std::vector<std::byte> expected_run(from.packed.begin(),
                                        from.packed.begin() + static_cast<std::ptrdiff_t>(bytes));
    Arena expected = into.memory;
    test::unpack(into.map, expected_run, expected);
    Arena by_layout = into.memory, by_run = into.memory;
    const Layout from_layout(from), into_layout(into);
    const Payload source = from_layout.at(from.memory.base());
    EXPECT_EQ(messages.receive(source, into_layout.at(by_layout.base())), bytes);
    EXPECT_EQ(by_layout.bytes(), expected.bytes());
    std::vector<std::byte> run(bytes);
    EXPECT_EQ(messages.receive(source, run_of(run.data(), run.size())), bytes);
    EXPECT_EQ(run, expected_run);
    EXPECT_EQ(messages.receive(run_of(run.data(), run.size()), into_layout.at(by_run.base())),
              bytes);
    EXPECT_EQ(by_run.bytes(), expected.bytes());
    EXPECT_EQ(messages.messages(), 3u);
    EXPECT_EQ(messages.bytes(), 3 * bytes);
  }
}

TEST(SelfMessages, AShortOneIsKept) {
  SelfMessages messages(kLongest);
  std::string sent = "as it was", received(9, '.');
  SelfMessage* const message = messages.keep(run_of(sent.data(), sent.size()));
  ASSERT_NE(message, nullptr);
  sent = "otherwise";
  EXPECT_EQ(messages.receive(message->payload.get(), run_of(received.data(), 5)), 5u);
  EXPECT_EQ(received, "as it....");
  EXPECT_EQ(messages.unexpected_bytes(), 9u);
  EXPECT_EQ(messages.senders(), 0u);
  EXPECT_EQ(messages.release(*message), nullptr);
}

TEST(SelfMessages, ALongOneIsNot) {
  SelfMessages messages(kLongest);
  std::vector<char> memory(kLongest + 1);
  EXPECT_EQ(messages.keep(run_of(memory.data(), memory.size())), nullptr);
  SelfMessage* const message = messages.keep(run_of(memory.data(), kLongest));
  ASSERT_NE(message, nullptr);
  messages.release(*message);
  SelfMessages of_any_length(UINT64_MAX);
  memory.resize(SelfMessages::kMostKept);
  EXPECT_EQ(of_any_length.keep(run_of(memory.data(), memory.size())), nullptr);
}

TEST(SelfMessages, WhatIsKeptIsBounded) {
  for (const std::size_t size : {std::size_t{0}, std::size_t{1}, std::size_t{1000}}) {
    SCOPED_TRACE(size);
    SelfMessages messages(kLongest);
    std::vector<char> memory(size + 1);
    const Payload payload = run_of(memory.data(), size);
    const std::size_t most = SelfMessages::kMostKept / (size + SelfMessages::kOwnBytes);
    std::vector<SelfMessage*> kept;
    while (SelfMessage* const message = messages.keep(payload)) kept.push_back(message);
    EXPECT_EQ(kept.size(), most);
    messages.release(*kept.front());
    kept.front() = messages.keep(payload);
    EXPECT_NE(kept.front(), nullptr) << "there is room again";
    EXPECT_EQ(messages.keep(payload), nullptr);
    for (SelfMessage* const message : kept) messages.release(*message);
  }
}

TEST(SelfMessages, OneInItsSendersMemoryHasASender) {
  SelfMessages messages(kLongest);
  mad_op op{}, other{};
  std::string sent = "before", received(6, '.');
  SelfMessage* const message = messages.refer(run_of(sent.data(), sent.size()), &op);
  SelfMessage* const last = messages.refer(run_of(sent.data(), 0), &other);
  EXPECT_EQ(messages.senders(), 2u);
  sent = "behind";
  EXPECT_EQ(messages.receive(message->payload.get(), run_of(received.data(), 6)), 6u);
  EXPECT_EQ(received, "behind");
  EXPECT_EQ(messages.release(*message), &op);
  EXPECT_EQ(messages.senders(), 1u);
  EXPECT_EQ(messages.unexpected_bytes(), 0u);
  std::vector<mad_op*> told;
  messages.give_back_senders([&](mad_op* sender) { told.push_back(sender); });
  EXPECT_EQ(told, std::vector<mad_op*>{&other});
  EXPECT_EQ(messages.senders(), 0u);
  EXPECT_EQ(messages.release(*last), nullptr) << "it was told";
}

}  // namespace
}  // namespace mad
