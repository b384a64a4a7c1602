// ShortMessages: two engines that have spoken, and messages from the one to the other that leave at
// once, for tests of what is received or shown where it arrived.
#ifndef TESTS_ENGINE_SHORT_MESSAGES_H_
#define TESTS_ENGINE_SHORT_MESSAGES_H_

#include <gtest/gtest.h>

#include <cstdint>

#include "tests/engine/node.h"
#include "tests/support/bytes.h"

namespace mad::test {

class ShortMessages : public ::testing::Test {
 protected:
  static constexpr std::uint16_t kContext = 1;
  static mad_envelope envelope(int source, int tag) { return {source, tag, kContext}; }

  explicit ShortMessages(const char* fabric = "shm") : a(fabric), b(fabric) {}

  /// A message to `b`, by posted receives.
  void exchange(Node& from, mad_peer* to) {
    char in[1];
    Operation received, sent;
    b.receive_tagged(envelope(0, 999), in, 1, nullptr, MAD_PATH_AUTO, &received);
    from.send_tagged(to, envelope(0, 999), "x", 1, nullptr, MAD_PATH_AUTO, &sent);
    ASSERT_TRUE(progress_until({&from, &b}, [&] { return received.done && sent.done; }));
  }
  /// One that leaves at once.
  void send(int tag, const Bytes& bytes, std::uint32_t flags = 0,
            const mad_extension* extension = nullptr) {
    Operation sent;
    a.send_tagged(to_b, envelope(5, tag), bytes.data(), bytes.size(), nullptr, MAD_PATH_AUTO, &sent,
                  flags, extension);
    ASSERT_TRUE(sent.done);
  }
  int receive(const mad_envelope& wanted, Bytes* in, const mad_type* type = nullptr,
              std::uint64_t count = 1, std::uint32_t how = 0) {
    return mad_tagged_receive_short(b.engine(), from_a, &wanted, in->data(),
                                    type == nullptr ? in->size() : count, type, how, &arrival);
  }
  /// By a receive that is posted.
  Bytes receive_posted(int tag, std::size_t bytes) {
    Bytes in(bytes);
    Operation received;
    b.receive_tagged(envelope(5, tag), in.data(), bytes, nullptr, MAD_PATH_AUTO, &received);
    EXPECT_TRUE(progress_until({&a, &b}, [&] { return received.done; }));
    EXPECT_EQ(received.status, MAD_SUCCESS);
    return in;
  }

  Node a, b;
  mad_peer* to_b = a.peer(b);
  mad_peer* from_a = b.peer(a);
  mad_arrival arrival{};
};

}  // namespace mad::test

#endif  // TESTS_ENGINE_SHORT_MESSAGES_H_
