#include "tests/engine/other_process.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <utility>

namespace mad::test {
namespace {

bool readable(int descriptor) {
  pollfd event{descriptor, POLLIN, 0};
  return ::poll(&event, 1, 0) > 0;
}

// Dies with its parent, so that no test leaves a process behind.
[[noreturn]] void run_child(const char* fabric, const std::function<void(Node&, Parent&)>& body,
                            int in, int out) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  {
    Node node(fabric);
    const std::vector<unsigned char> address = node.address();
    const auto size = static_cast<unsigned char>(address.size());
    if (::write(out, &size, 1) != 1 || ::write(out, address.data(), size) != size) _exit(2);
    Parent parent(in, out);
    body(node, parent);
  }
  _exit(::testing::Test::HasFailure() ? 1 : 0);
}

}  // namespace

void Parent::say(char word) { EXPECT_EQ(::write(out_, &word, 1), 1); }

bool Parent::heard() const { return readable(in_); }

OtherProcess::OtherProcess(const char* fabric, const std::function<void(Node&, Parent&)>& body) {
  int to_child[2], from_child[2];
  if (::pipe(to_child) != 0 || ::pipe(from_child) != 0) std::abort();
  child_ = ::fork();
  if (child_ == 0) {
    ::close(to_child[1]);
    ::close(from_child[0]);
    run_child(fabric, body, to_child[0], from_child[1]);
  }
  ::close(to_child[0]);
  ::close(from_child[1]);
  in_ = from_child[0];
  out_ = to_child[1];
  unsigned char size = 0;
  EXPECT_EQ(::read(in_, &size, 1), 1);
  address_.resize(size);
  EXPECT_EQ(::read(in_, address_.data(), size), size);
}

OtherProcess::~OtherProcess() {
  kill();
  ::close(in_);
  ::close(out_);
}

mad_peer* OtherProcess::peer_of(Node& node) const {
  mad_peer* peer = nullptr;
  EXPECT_EQ(mad_engine_peer(node.engine(), address_.data(), address_.size(), &peer), MAD_SUCCESS)
      << mad_last_error();
  return peer;
}

void OtherProcess::say(char word) { EXPECT_EQ(::write(out_, &word, 1), 1); }

bool OtherProcess::heard() const { return readable(in_); }

void OtherProcess::kill() {
  const pid_t child = std::exchange(child_, -1);
  if (child <= 0) return;
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
}

void OtherProcess::stop() { ::kill(child_, SIGSTOP); }

}  // namespace mad::test
