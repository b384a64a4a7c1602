// Reconnects: peers that could not be connected for a reason that may pass, and when each is tried
// again.
//
// A lack of files, ports or shared memory, here or there, a host that does not answer, an engine
// that was too slow: none of these says that a peer is dead.  Its messages wait, and it is tried
// again after a pause that grows to about a second and is random, so that many who failed together
// do not come together again.
#ifndef MADLIKE_MESSAGE_RECONNECTS_H_
#define MADLIKE_MESSAGE_RECONNECTS_H_

#include <random>

#include "madlike/base/clock.h"
#include "madlike/message/core.h"
#include "madlike/message/peers.h"

namespace mad {

/// Whether an attempt to connect that ended so says nothing of the peer.
bool may_pass(StatusCode why);

class Reconnects {
 public:
  Reconnects(Core& core, Peers& peers) : core_(core), peers_(peers) {}

  /// The endpoint's connection ended, and there is no other route.  True: it is tried again later.
  bool later(Endpoint& endpoint, const Status& why);
  /// Tries those whose time has come.
  void advance();

 private:
  void tell(const Endpoint& endpoint, const Status& why);

  Core& core_;
  Peers& peers_;
  PolledClock clock_;
  CoarseTimer timer_;
  std::minstd_rand random_{std::random_device()()};
  bool told_ = false;
};

}  // namespace mad

#endif  // MADLIKE_MESSAGE_RECONNECTS_H_
