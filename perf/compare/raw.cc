// The limit in a comparison: two processes and one TCP connection over the loopback interface, the
// bytes contiguous, nothing around them.
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

#include "perf/compare/channel.h"

namespace compare {
namespace {

constexpr int kWarmups = 3;

[[noreturn]] void fail(const char* what) {
  throw std::runtime_error(std::string(what) + ": " + std::strerror(errno));
}

// A full socket is not asked again and again: that would keep the acknowledgements from its lock.
void wait_for_room(int socket) {
  constexpr int kLongest = 1000;  // ms
  pollfd full{socket, POLLOUT, 0};
  (void)poll(&full, 1, kLongest);
}

void send_all(int socket, const char* data, std::size_t size) {
  while (size > 0) {
    const ssize_t sent = send(socket, data, size, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent < 0 && errno != EAGAIN && errno != EINTR) fail("send");
    if (sent < 0) {
      wait_for_room(socket);
      continue;
    }
    data += sent;
    size -= static_cast<std::size_t>(sent);
  }
}

void receive_all(int socket, char* data, std::size_t size) {
  while (size > 0) {
    const ssize_t got = recv(socket, data, size, MSG_DONTWAIT);
    if (got == 0) throw std::runtime_error("the other process is gone");
    if (got < 0 && errno != EAGAIN && errno != EINTR) fail("recv");
    if (got <= 0) continue;
    data += got;
    size -= static_cast<std::size_t>(got);
  }
}

class Raw {
 public:
  Raw(int rank, int socket) : rank_(rank), socket_(socket) {}

  Timing run(const Command& command) {
    const auto bytes = static_cast<std::size_t>(command.bytes);
    out_.assign(bytes, static_cast<char>(command.stamp + static_cast<unsigned>(rank_)));
    in_.assign(bytes, '\0');
    std::vector<double> times(static_cast<std::size_t>(command.iterations));
    for (int i = -kWarmups; i < command.iterations; ++i) {
      const auto start = std::chrono::steady_clock::now();
      if (command.window == 0) {
        if (rank_ == 0) send_all(socket_, out_.data(), bytes);
        receive_all(socket_, in_.data(), bytes);
        if (rank_ == 1) send_all(socket_, out_.data(), bytes);
      } else {
        window(command);
      }
      const std::chrono::duration<double, std::micro> spent =
          std::chrono::steady_clock::now() - start;
      if (i >= 0) times[static_cast<std::size_t>(i)] = spent.count();
    }
    const char expected = static_cast<char>(command.stamp + static_cast<unsigned>(1 - rank_));
    for (const char byte : in_) {
      if (byte != expected && (rank_ == 1 || command.window == 0 || command.both_ways)) {
        throw std::runtime_error("a wrong byte came");
      }
    }
    return summary(command, times.data());
  }

 private:
  void window(const Command& command) {
    char word = 0;
    const std::size_t all = out_.size() * static_cast<std::size_t>(command.window);
    if (command.both_ways) {
      exchange(all);
    } else {
      for (int i = 0; i < command.window; ++i) {
        if (rank_ == 0) send_all(socket_, out_.data(), out_.size());
        if (rank_ == 1) receive_all(socket_, in_.data(), in_.size());
      }
    }
    if (rank_ == 1) send_all(socket_, &word, 1);
    if (rank_ == 0) receive_all(socket_, &word, 1);
  }

  // Of one buffer again and again, each way; who only waited to send would wait for ever.
  void exchange(std::size_t bytes) {
    for (std::size_t sent = 0, got = 0; sent < bytes || got < bytes;) {
      const std::size_t out = sent % out_.size(), in = got % in_.size();
      const ssize_t left = sent == bytes ? 0
                                         : send(socket_, out_.data() + out, out_.size() - out,
                                                MSG_DONTWAIT | MSG_NOSIGNAL);
      if (left < 0 && errno != EAGAIN && errno != EINTR) fail("send");
      const ssize_t came =
          got == bytes ? 0 : recv(socket_, in_.data() + in, in_.size() - in, MSG_DONTWAIT);
      if (came == 0 && got < bytes) throw std::runtime_error("the other process is gone");
      if (came < 0 && errno != EAGAIN && errno != EINTR) fail("recv");
      sent += left > 0 ? static_cast<std::size_t>(left) : 0;
      got += came > 0 ? static_cast<std::size_t>(came) : 0;
    }
  }

  int rank_;
  int socket_;
  std::vector<char> out_, in_;
};

// As this device's connections inside a host are.
void configure(int socket) {
  const int on = 1;
  if (setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)) != 0) fail("TCP_NODELAY");
  const std::string unpaced = "reno";
  if (setsockopt(socket, IPPROTO_TCP, TCP_CONGESTION, unpaced.data(), unpaced.size()) != 0) {
    fail("TCP_CONGESTION");
  }
}

int play(const std::string& prefix, int rank, int socket) {
  configure(socket);
  stay_on_processor(rank);
  Channel channel(prefix, rank);
  Raw raw(rank, socket);
  Command command;
  while (channel.next(&command)) channel.answer(raw.run(command));
  return 0;
}

int run(const std::string& prefix) {
  const int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  if (listener < 0 || bind(listener, reinterpret_cast<sockaddr*>(&address), size) != 0 ||
      listen(listener, 1) != 0 ||
      getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size) != 0) {
    fail("listening");
  }
  const pid_t child = fork();
  if (child < 0) fail("fork");
  if (child == 0) {
    const int connection = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (connect(connection, reinterpret_cast<sockaddr*>(&address), size) != 0) fail("connect");
    return play(prefix, 1, connection);
  }
  const int connection = accept(listener, nullptr, nullptr);
  if (connection < 0) fail("accept");
  const int code = play(prefix, 0, connection);
  int ended = 0;
  (void)waitpid(child, &ended, 0);
  return code != 0 ? code : WIFEXITED(ended) ? WEXITSTATUS(ended) : 1;
}

}  // namespace
}  // namespace compare

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fputs("raw: needs the prefix of its pipes\n", stderr);
    return 2;
  }
  try {
    return compare::run(argv[1]);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "raw: %s\n", error.what());
    return 1;
  }
}
