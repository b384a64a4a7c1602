#include "netmod/abi/trace.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <pthread.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <new>
#include <utility>

#include "datatype_path/explain/explain.h"

namespace mad {
namespace {

constexpr const char* kBytes = "byte";  // data without a type

const char* name_of(Trace::Way way) { return way == Trace::Way::kSend ? "send" : "recv"; }

double microseconds(double ns) { return ns / 1000; }

// Receives are not predicted, and what is not done has no time.
std::string time_of(double ns) { return ns > 0 ? fmt::format("{:.1f}", microseconds(ns)) : "-"; }

std::string prefix() { return fmt::format("mad {}: ", ::getpid()); }

std::string with_process_id(std::string name) {
  const std::string id = std::to_string(::getpid());
  for (std::size_t at = name.find("%p"); at != std::string::npos; at = name.find("%p", at)) {
    name.replace(at, 2, id);
    at += id.size();
  }
  return name;
}

// "gather 3, pipeline 1"
std::string paths_of(const std::array<std::uint64_t, MAD_PATH_COUNT>& by_path) {
  std::string out;
  for (int path = 0; path < MAD_PATH_COUNT; ++path) {
    if (by_path[static_cast<std::size_t>(path)] == 0) continue;
    const char* const name =
        path == MAD_PATH_AUTO ? "contiguous" : mad_path_name(static_cast<mad_path>(path));
    out += fmt::format("{}{} {}", out.empty() ? "" : ", ", name,
                       by_path[static_cast<std::size_t>(path)]);
  }
  return out;
}

// A line of the table: numbers, or their headings.
template <typename... Values>
std::string columns(const std::string& start, const Values&... values) {
  return start + fmt::format(
                     "{:>10} {:4} {:>9} {:>14} {:>14} {:>14} {:>8} {:>8} {:>8} {:>12} {:>12} "
                     "{:>7}  {}\n",
                     values...);
}

std::string error_of(double predicted, double measured) {
  if (predicted <= 0 || measured <= 0) return "-";
  return fmt::format("{:+.0f} %", 100 * (predicted - measured) / measured);
}

}  // namespace

std::unique_ptr<Trace> Trace::from_environment(const std::string& fabric) {
  const char* const value = std::getenv("MAD_TRACE");
  if (value == nullptr || *value == '\0') return nullptr;
  const std::string name = with_process_id(value);
  const bool to_stderr = name == "-" || name == "stderr";
  const int file = to_stderr
                       ? STDERR_FILENO
                       : ::open(name.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (file < 0) {
    std::fprintf(stderr, "libmad: cannot write the trace to %s (MAD_TRACE): %s; going on without\n",
                 name.c_str(), std::strerror(errno));
    return nullptr;
  }
  return std::unique_ptr<Trace>(new Trace(file, !to_stderr, fabric));
}

Trace::Trace(int file, bool owned, std::string fabric)
    : file_(file), owned_(owned), fabric_(std::move(fabric)) {}

Trace::~Trace() {
  if (owned_ && file_ >= 0) ::close(file_);
}

Trace::Row& Trace::row_of(Key key) {
  const auto known = rows_.find(key);
  if (known != rows_.end()) return known->second;
  if (rows_.size() == kMaxRows) return others_[static_cast<std::size_t>(std::get<Way>(key))];
  return rows_[std::move(key)];
}

Trace::Message Trace::decided(const Decision& decision) {
  std::string type = decision.type == nullptr ? kBytes : brief(*decision.type);
  std::string line = fmt::format(
      "{}{:.1f} us {} group {} peer {}: {} x {}, {} bytes, {} -> {}", prefix(),
      std::chrono::duration<double, std::micro>(Clock::now().time_since_epoch()).count(),
      name_of(decision.way), decision.group, decision.peer, decision.count, type, decision.bytes,
      mad_path_name(decision.asked), to_string(decision.plan.path));
  if (decision.way == Way::kSend) {
    line += fmt::format(", predicted {:.1f} us", microseconds(decision.predicted_ns));
  }
  write(fmt::format("{}: {}\n", line, decision.plan.reason));

  Row& row = row_of({decision.group, decision.way, std::move(type)});
  ++row.messages;
  row.bytes += decision.bytes;
  ++row.by_path[static_cast<std::size_t>(decision.taken)];
  row.staged += decision.work.staged;
  row.referenced += decision.work.bytes - decision.work.staged;
  row.packets += decision.work.packets;
  Message message;
  message.row = &row;
  message.predicted_ns = decision.predicted_ns;
  message.begin = Clock::now();  // writing the line is no part of it
  return message;
}

void Trace::done(const Message& message, bool at_once) {
  if (message.row == nullptr) return;  // there was nothing to decide
  const std::chrono::duration<double, std::nano> time = Clock::now() - message.begin;
  Row& row = *message.row;
  ++row.done;
  if (at_once) ++row.at_once;
  row.measured_ns += time.count();
  row.predicted_ns += message.predicted_ns;
}

std::string Trace::table() const {
  const std::string start = prefix();
  std::string out = fmt::format(
      "{}summary of fabric {}; us, of the messages done; predicted: half a round trip; measured: "
      "from the call to its completion; *: as planned\n",
      start, fabric_);
  out += columns(start, "group", "way", "messages", "bytes", "staged*", "referenced*", "packets*",
                 "done", "at once", "predicted", "measured", "error", "type: paths");
  const auto add = [&](const std::string& group, Way way, const std::string& type, const Row& row) {
    out += columns(start, group, name_of(way), row.messages, row.bytes, row.staged, row.referenced,
                   row.packets, row.done, row.at_once, time_of(row.predicted_ns),
                   time_of(row.measured_ns), error_of(row.predicted_ns, row.measured_ns),
                   type + ": " + paths_of(row.by_path));
  };
  for (const auto& [key, row] : rows_) {
    add(std::to_string(std::get<0>(key)), std::get<Way>(key), std::get<std::string>(key), row);
  }
  for (const Way way : {Way::kSend, Way::kReceive}) {
    const Row& row = others_[static_cast<std::size_t>(way)];
    if (row.messages > 0) add("others", way, "all others", row);
  }
  return out;
}

void Trace::summarize() noexcept {
  try {
    write(table());
  } catch (const std::bad_alloc&) {
    return;  // the program ends well without a table
  }
}

namespace {

// Of this thread: what it writes raises neither SIGPIPE nor SIGXFSZ, of whom nobody reads any more
// and of a file that may not grow.  One that was pending before stays.
class NoSignals {
 public:
  NoSignals() {
    sigemptyset(&ours_);
    sigaddset(&ours_, SIGPIPE);
    sigaddset(&ours_, SIGXFSZ);
    sigpending(&pending_);
    pthread_sigmask(SIG_BLOCK, &ours_, &before_);
  }
  ~NoSignals() {
    for (const int number : {SIGPIPE, SIGXFSZ}) {
      if (sigismember(&pending_, number) == 1) sigdelset(&ours_, number);
    }
    const timespec at_once{};
    while (sigtimedwait(&ours_, nullptr, &at_once) > 0) continue;
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  NoSignals(const NoSignals&) = delete;
  NoSignals& operator=(const NoSignals&) = delete;

 private:
  sigset_t ours_, pending_, before_;
};

}  // namespace

void Trace::write(const std::string& text) {
  const NoSignals quiet;
  std::size_t written = 0;
  while (file_ >= 0 && written < text.size()) {
    const ssize_t now = ::write(file_, text.data() + written, text.size() - written);
    if (now > 0) {
      written += static_cast<std::size_t>(now);
    } else if (now == 0 || errno != EINTR) {
      std::fprintf(stderr, "libmad: the trace (MAD_TRACE) ends here: %s\n", std::strerror(errno));
      if (owned_) ::close(file_);
      file_ = -1;
    }
  }
}

}  // namespace mad
