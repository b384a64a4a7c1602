// What a child of fork() does with an engine's sockets, which it inherits: while it has them open,
// nobody sees that its parent died.
//
// The kernel lists what an epoll set watches, so nothing of the engine is read, which another
// thread may have been changing at the fork, and sockets that a fabric's library opened are found,
// too.
#ifndef NETMOD_ABI_AFTER_FORK_H_
#define NETMOD_ABI_AFTER_FORK_H_

namespace mad {

/// Closes what `epoll_set` watches, also by way of sets that it watches, and the set itself, in
/// this process alone: the sets of the parent stay as they are.  Calls only what a child of a
/// process of many threads may.  Without /proc only the set is closed.
void close_inherited(int epoll_set);

}  // namespace mad

#endif  // NETMOD_ABI_AFTER_FORK_H_
