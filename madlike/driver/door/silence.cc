#include "madlike/driver/door/silence.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

namespace mad {

bool Silence::lasts(int socket, PolledClock::time_point now, std::chrono::milliseconds timeout) {
  tcp_info info{};
  socklen_t size = sizeof(info);
  if (timeout.count() == 0) return false;
  if (getsockopt(socket, IPPROTO_TCP, TCP_INFO, &info, &size) != 0) return false;
  return look(info, now) >= timeout;
}

// What an answer is owed to: data, and probes of a closed window or an idle connection.  Any
// acknowledgement answers all of them; the kernel's time of the last one also runs while nobody
// looks, so that an answer of such a pause counts late at worst.
PolledClock::time_point::duration Silence::look(const tcp_info& info, PolledClock::time_point now) {
  if (info.tcpi_unacked == 0 && info.tcpi_probes == 0) {
    asked_.reset();
    return {};
  }
  const std::chrono::milliseconds since_answer(info.tcpi_last_ack_recv);
  if (!asked_ || since_answer < now - *asked_) asked_ = now;
  return now - *asked_;
}

}  // namespace mad
