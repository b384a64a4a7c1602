// OtherProcess: an engine in a process of its own, for tests in which one of two engines dies.
//
// The child is forked before any engine of the test exists, runs `body` with a node and leaves
// without running the parent's destructors.  Two pipes carry bytes between them.
#ifndef TESTS_ENGINE_OTHER_PROCESS_H_
#define TESTS_ENGINE_OTHER_PROCESS_H_

#include <sys/types.h>

#include <functional>
#include <vector>

#include "tests/engine/node.h"

namespace mad::test {

/// The child's end of the pipes.
class Parent {
 public:
  Parent(int in, int out) : in_(in), out_(out) {}
  /// Says one byte.
  void say(char word);
  /// Whether the parent has said something (never blocks) or is gone.
  bool heard() const;

 private:
  int in_;
  int out_;
};

class OtherProcess {
 public:
  /// `body` gets the child's node on `fabric`, on which it may wait for ever: the destructor kills
  /// it.
  OtherProcess(const char* fabric, const std::function<void(Node&, Parent&)>& body);
  ~OtherProcess();
  OtherProcess(const OtherProcess&) = delete;
  OtherProcess& operator=(const OtherProcess&) = delete;

  /// The address of the child's engine.
  const std::vector<unsigned char>& address() const { return address_; }
  mad_peer* peer_of(Node& node) const;
  void say(char word);
  /// Whether the child has said something; never blocks.
  bool heard() const;
  /// SIGKILL, and waits until it is gone.
  void kill();
  /// SIGSTOP: it is alive but does nothing any more.
  void stop();

 private:
  pid_t child_ = -1;
  int in_ = -1;
  int out_ = -1;
  std::vector<unsigned char> address_;
};

}  // namespace mad::test

#endif  // TESTS_ENGINE_OTHER_PROCESS_H_
