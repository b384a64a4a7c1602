#include "perf/calibrate/link.h"

#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <stdexcept>

namespace calibrate {
namespace {

constexpr auto kPatience = std::chrono::seconds(20);
constexpr auto kLongestRounds = std::chrono::seconds(1);  // where others use the cores, too
constexpr std::uint8_t kRequest = 1, kAnswer = 2;

// What the child is to do.
enum class Task : std::uint64_t { kReceive, kVerify, kLeave };
struct Request {
  Task task = Task::kReceive;
  Layout received;
  std::uint64_t path = 0;
};

void check(int status, const char* what) {
  if (status >= 0) return;
  throw std::runtime_error(std::string(what) + ": " + mad_last_error());
}

std::byte pattern(std::size_t at) { return static_cast<std::byte>((at * 7 + at / 251) % 255); }

// Rows in twice their memory.
class Memory {
 public:
  explicit Memory(std::size_t bytes) : bytes_(2 * bytes) {}
  void* base() { return bytes_.data(); }
  std::byte& packed(const Layout& layout, std::size_t at) {
    return bytes_[layout.rows == 1 ? at : at + at / layout.row_bytes * layout.row_bytes];
  }

 private:
  std::vector<std::byte> bytes_;
};

class Type {
 public:
  explicit Type(const Layout& layout) {
    mad_type* row = nullptr;
    check(mad_type_bytes(layout.row_bytes, &row), "mad_type_bytes");
    const auto stride = static_cast<std::int64_t>(2 * layout.row_bytes);
    const int status = mad_type_vector(layout.rows, 1, stride, row, &type_);
    mad_type_release(row);
    check(status, "mad_type_vector");
    check(mad_type_commit(type_), "mad_type_commit");
  }
  ~Type() { mad_type_release(type_); }
  Type(const Type&) = delete;
  Type& operator=(const Type&) = delete;
  const mad_type* get() const { return type_; }

 private:
  mad_type* type_ = nullptr;
};

}  // namespace

// One process's engine and its memory.
class Link::End {
 public:
  End(const std::string& fabric, const std::string& interface, std::uint64_t flush_threshold)
      : memory_(kMostBytes) {
    mad_config config;
    mad_config_init(&config);
    config.fabric = fabric.c_str();
    config.interface = interface.empty() ? nullptr : interface.c_str();
    config.flush_threshold = flush_threshold;
    config.callbacks.on_message = on_message;
    config.callbacks.on_sent = on_sent;
    config.callbacks.on_received = on_received;
    config.callbacks.on_peer_gone = on_peer_gone;
    config.context = this;
    check(mad_engine_open(&config, &engine_), "opening the fabric");
  }
  ~End() { mad_engine_close(engine_); }
  End(const End&) = delete;
  End& operator=(const End&) = delete;

  const char* fabric() const { return mad_engine_fabric(engine_); }
  Memory& memory() { return memory_; }
  double packets() { return static_cast<double>(mad_engine_counters(engine_)->packets_sent); }

  // Both sides write their address first.
  void meet(int socket) {
    char own[MAD_ADDRESS_MAX] = {}, other[MAD_ADDRESS_MAX] = {};
    std::size_t size = sizeof(own);
    check(mad_engine_address(engine_, own, &size), "mad_engine_address");
    if (send(socket, &size, sizeof(size), MSG_NOSIGNAL) != sizeof(size) ||
        send(socket, own, sizeof(own), MSG_NOSIGNAL) != sizeof(own) ||
        recv(socket, &size, sizeof(size), MSG_WAITALL) != sizeof(size) ||
        recv(socket, other, sizeof(other), MSG_WAITALL) != sizeof(other)) {
      throw std::runtime_error("the two processes did not find each other");
    }
    check(mad_engine_peer(engine_, other, size, &peer_), "mad_engine_peer");
  }

  void ask(const Request& request, const Layout& sent, mad_path path) {
    if (sent.bytes() == 0) {
      check(mad_send_header(engine_, peer_, kRequest, &request, sizeof(request)), "sending");
      return;
    }
    sent_ = false;
    const mad_type* const type = type_of(sent);
    const std::uint64_t count = type == nullptr ? sent.bytes() : 1;
    const int status = mad_send(engine_, peer_, kRequest, &request, sizeof(request), memory_.base(),
                                count, type, path, &send_op_);
    check(status, "sending");
    sent_ = status == MAD_SUCCESS;
  }

  void answer(std::uint64_t wrong_bytes) {
    check(mad_send_header(engine_, peer_, kAnswer, &wrong_bytes, sizeof(wrong_bytes)), "answering");
  }

  // Until the next request is received whole; false: the other end left.
  bool await_request(Request* request) {
    await([this] { return have_request_; });
    have_request_ = false;
    *request = request_;
    return request_.task != Task::kLeave;
  }

  std::uint64_t await_answer() {
    await([this] { return have_answer_ && sent_; });
    have_answer_ = false;
    return answer_;
  }

 private:
  const mad_type* type_of(const Layout& layout) {
    if (layout.rows == 1) return nullptr;
    if (type_ == nullptr || typed_.rows != layout.rows || typed_.row_bytes != layout.row_bytes) {
      type_ = std::make_unique<Type>(layout);
      typed_ = layout;
    }
    return type_->get();
  }

  template <typename Done>
  void await(const Done& done) {
    const auto deadline = std::chrono::steady_clock::now() + kPatience;
    for (unsigned polls = 1; !done(); ++polls) {
      check(mad_engine_progress(engine_, nullptr), "waiting");
      if (!error_.empty() && !done()) throw std::runtime_error(error_);
      if (polls % 4096 == 0 && std::chrono::steady_clock::now() > deadline) {
        throw std::runtime_error("the other process did not answer within 20 s");
      }
    }
  }

  void receive(mad_incoming* incoming) {
    const mad_type* const type = type_of(request_.received);
    const std::uint64_t count = type == nullptr ? request_.received.bytes() : 1;
    std::uint64_t received = 0;
    const int status = mad_recv(engine_, incoming, memory_.base(), count, type,
                                static_cast<mad_path>(request_.path), &receive_op_, &received);
    if (status < 0) error_ = mad_last_error();
    have_request_ = status == MAD_SUCCESS;
  }

  static void on_message(void* context, mad_peer*, std::uint8_t handler, void* header,
                         std::size_t header_bytes, std::uint64_t, mad_incoming* incoming) {
    End& end = *static_cast<End*>(context);
    if (handler == kAnswer && header_bytes == sizeof(end.answer_)) {
      std::memcpy(&end.answer_, header, header_bytes);
      end.have_answer_ = true;
    } else if (handler == kRequest && header_bytes == sizeof(end.request_)) {
      std::memcpy(&end.request_, header, header_bytes);
      if (incoming == nullptr) {
        end.have_request_ = true;
      } else {
        end.receive(incoming);
      }
    }
  }
  static void on_sent(void* context, mad_op*, int status) {
    static_cast<End*>(context)->sent_ = true;
    if (status < 0) static_cast<End*>(context)->error_ = mad_last_error();
  }
  static void on_received(void* context, mad_op*, std::uint64_t, int status) {
    static_cast<End*>(context)->have_request_ = true;
    if (status < 0) static_cast<End*>(context)->error_ = mad_last_error();
  }
  static void on_peer_gone(void* context, mad_peer*, int, const char* why) {
    static_cast<End*>(context)->error_ = std::string("the other process is gone: ") + why;
  }

  mad_engine* engine_ = nullptr;
  mad_peer* peer_ = nullptr;
  Memory memory_;
  std::unique_ptr<Type> type_;
  Layout typed_;
  mad_op send_op_{};
  mad_op receive_op_{};
  Request request_;
  std::uint64_t answer_ = 0;
  std::string error_;
  bool have_request_ = false;
  bool have_answer_ = false;
  bool sent_ = true;
};

namespace {

std::uint64_t wrong_bytes(Memory& memory, const Layout& layout) {
  std::uint64_t wrong = 0;
  for (std::size_t at = 0; at < layout.bytes(); ++at) {
    if (memory.packed(layout, at) != pattern(at)) ++wrong;
    memory.packed(layout, at) = std::byte{255};  // never part of the pattern
  }
  return wrong;
}

}  // namespace

Link::Link(const std::string& fabric, const std::string& interface, std::uint64_t flush_threshold) {
  int sockets[2];
  if (socketpair(AF_UNIX, SOCK_STREAM, 0, sockets) != 0) throw std::runtime_error("socketpair");
  child_ = fork();
  if (child_ < 0) throw std::runtime_error("fork");
  close(sockets[child_ == 0 ? 0 : 1]);
  const int socket = sockets[child_ == 0 ? 1 : 0];
  if (child_ == 0) _exit(serve(fabric, interface, flush_threshold, socket));
  try {
    end_ = std::make_unique<End>(fabric, interface, flush_threshold);
    end_->meet(socket);
    close(socket);
    constexpr int kRounds = 2000;
    (void)rounds_of({}, kRounds);
    empty_ns_ = rounds_of({}, kRounds).least_ns / 2;
  } catch (...) {
    close(socket);  // the child sees it, at the latest when it is asked for its address
    end_.reset();
    waitpid(child_, nullptr, 0);
    throw;
  }
}

int Link::serve(const std::string& fabric, const std::string& interface,
                std::uint64_t flush_threshold, int socket) {
  try {
    End end(fabric, interface, flush_threshold);
    end.meet(socket);
    Request request;
    while (end.await_request(&request)) {
      const bool verify = request.task == Task::kVerify;
      end.answer(verify ? wrong_bytes(end.memory(), request.received) : 0);
    }
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "the receiving process: %s\n", error.what());
    return 1;
  }
}

Link::~Link() {
  try {
    end_->ask({Task::kLeave, {}, 0}, {}, MAD_PATH_AUTO);
    end_.reset();
  } catch (const std::exception&) {
    kill(child_, SIGTERM);
  }
  waitpid(child_, nullptr, 0);
}

std::string Link::fabric() const { return end_->fabric(); }

double Link::round_trip(const Transfer& transfer, bool verify) {
  const bool sender_strided = transfer.sent.rows > 1;
  const mad_path received_by = sender_strided ? MAD_PATH_AUTO : transfer.path;
  const Request request{verify ? Task::kVerify : Task::kReceive, transfer.received,
                        static_cast<std::uint64_t>(received_by)};
  const auto start = std::chrono::steady_clock::now();
  end_->ask(request, transfer.sent, sender_strided ? transfer.path : MAD_PATH_AUTO);
  const std::uint64_t wrong = end_->await_answer();
  const std::chrono::duration<double, std::nano> elapsed = std::chrono::steady_clock::now() - start;
  if (wrong != 0) throw std::runtime_error(std::to_string(wrong) + " wrong bytes were received");
  return elapsed.count();
}

Link::Rounds Link::rounds_of(const Transfer& transfer, int most) {
  const auto end = std::chrono::steady_clock::now() + kLongestRounds;
  Rounds rounds{round_trip(transfer, false), 1};
  while (rounds.count < most && std::chrono::steady_clock::now() < end) {
    rounds.least_ns = std::min(rounds.least_ns, round_trip(transfer, false));
    ++rounds.count;
  }
  return rounds;
}

Timing Link::time(const Transfer& transfer, int rounds) {
  for (std::size_t at = 0; at < transfer.sent.bytes(); ++at) {
    end_->memory().packed(transfer.sent, at) = pattern(at);
  }
  (void)round_trip(transfer, true);
  const double before = end_->packets();
  const Rounds taken = rounds_of(transfer, rounds);
  return {taken.least_ns - empty_ns_, (end_->packets() - before) / taken.count};
}

}  // namespace calibrate
