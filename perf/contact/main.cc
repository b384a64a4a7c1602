// contact: what the first and the shortest messages between processes of one host cost, through
// mad.h alone.
//
//   contact latency FABRIC [BYTES]     half a round trip of a header, least and median of 200
//   rounds
//                                      of 10000 each, or fewer where they take longer than 5 ms;
//                                      and of a sender that is woken
//   contact meeting FABRIC PROCESSES   until all pairs have spoken, of engines opened before, and
//                                      the memory that each process then has more
//   contact stream FABRIC BYTES        one way, messages of so many bytes, 64 in flight
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>
#include <vector>

#include "netmod/abi/mad.h"

namespace {

using Clock = std::chrono::steady_clock;
constexpr int kMostProcesses = 512;
constexpr int kRounds = 1000, kTrips = 1000;

[[noreturn]] void fail(const std::string& what) {
  std::fprintf(stderr, "contact: %s: %s\n", what.c_str(), mad_last_error());
  std::exit(1);
}

/// What the processes share.
struct Board {
  std::atomic<int> opened{0}, met{0}, left{0};
  std::atomic<std::int64_t> last{0};    // ns: when the last one had heard of all
  std::atomic<std::int64_t> memory{0};  // KiB
  std::atomic<std::int64_t> work{0};    // ns on a core
  std::size_t address_bytes[kMostProcesses];
  unsigned char address[kMostProcesses][MAD_ADDRESS_MAX];
};

std::int64_t now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now().time_since_epoch())
      .count();
}

/// That this process was on a core.
std::int64_t work_ns() {
  timespec time{};
  (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return time.tv_sec * 1000000000 + time.tv_nsec;
}

/// Of this process's, in KiB, as /proc/self/smaps_rollup has it.
std::int64_t resident_kib() {
  std::ifstream lines("/proc/self/smaps_rollup");
  std::string word;
  std::int64_t value = 0;
  while (lines >> word) {
    if (word == "Pss:" && lines >> value) return value;
  }
  return 0;
}

class Engine {
 public:
  Engine(const char* fabric, Board& board, int number) : board_(board) {
    mad_config config;
    mad_config_init(&config);
    config.fabric = fabric;
    config.interface = "lo";
    config.callbacks.on_message = on_message;
    config.callbacks.on_sent = [](void* self, mad_op*, int) {
      --static_cast<Engine*>(self)->in_flight;
    };
    config.callbacks.on_received = [](void* self, mad_op*, std::uint64_t, int) {
      static_cast<Engine*>(self)->receiving = false;
    };
    config.callbacks.on_peer_gone = on_gone;
    config.context = this;
    if (mad_engine_open(&config, &engine_) != MAD_SUCCESS) fail("no engine");
    board.address_bytes[number] = MAD_ADDRESS_MAX;
    if (mad_engine_address(engine_, board.address[number], &board.address_bytes[number]) < 0) {
      fail("no address");
    }
    ++board.opened;
  }
  ~Engine() { mad_engine_close(engine_); }
  mad_peer* peer(int number) {
    mad_peer* peer = nullptr;
    if (mad_engine_peer(engine_, board_.address[number], board_.address_bytes[number], &peer) !=
        MAD_SUCCESS) {
      fail("no peer");
    }
    return peer;
  }
  void send(mad_peer* to, std::size_t bytes) {
    if (mad_send_header(engine_, to, 1, header_, bytes) < 0) fail("sending");
  }
  void progress() { (void)mad_engine_progress(engine_, nullptr); }
  mad_engine* get() { return engine_; }

  std::uint64_t heard = 0;
  int in_flight = 0;
  bool receiving = false;

 private:
  static void on_message(void* context, mad_peer*, std::uint8_t, void*, std::size_t,
                         std::uint64_t bytes, mad_incoming* incoming) {
    auto* const self = static_cast<Engine*>(context);
    ++self->heard;
    if (bytes == 0) return;
    self->memory_.resize(bytes);
    static mad_op op;
    std::uint64_t received = 0;
    self->receiving = mad_recv(self->engine_, incoming, self->memory_.data(), bytes, nullptr,
                               MAD_PATH_AUTO, &op, &received) == MAD_IN_PROGRESS;
  }
  static void on_gone(void*, mad_peer*, int status, const char* why) {
    if (status != MAD_ERR_CLOSED) std::fprintf(stderr, "contact: a peer is gone: %s\n", why);
  }

  Board& board_;
  mad_engine* engine_ = nullptr;
  std::vector<char> memory_;
  alignas(8) char header_[4096] = {};
};

void pin(int core) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(core % static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN)), &set);
  (void)sched_setaffinity(0, sizeof(set), &set);
}

void await_all(Board& board, int processes) {
  while (board.opened < processes) sched_yield();
}

void latency(const char* fabric, Board& board, int number, std::size_t bytes) {
  pin(number);
  Engine engine(fabric, board, number);
  await_all(board, 2);
  mad_peer* const peer = engine.peer(1 - number);
  std::uint64_t expected = 0;
  const auto trip = [&](bool first, bool sleeps) {
    if (first) engine.send(peer, bytes);
    ++expected;
    while (engine.heard < expected) {
      if (sleeps) (void)mad_engine_wait(engine.get(), 1000000);
      engine.progress();
    }
    if (!first) engine.send(peer, bytes);
  };
  for (int i = 0; i < 2000; ++i) trip(number == 0, false);
  std::vector<double> halves;
  for (int round = 0; round < kRounds; ++round) {
    const auto begin = Clock::now();
    for (int i = 0; i < kTrips; ++i) trip(number == 0, false);
    const std::chrono::duration<double, std::nano> each = Clock::now() - begin;
    halves.push_back(each.count() / kTrips / 2);
  }
  std::vector<double> woken;
  for (int round = 0; round < 200; ++round) {
    const auto begin = Clock::now();
    for (int i = 0; i < 20; ++i) trip(number == 0, true);
    const std::chrono::duration<double, std::micro> each = Clock::now() - begin;
    woken.push_back(each.count() / 20 / 2);
  }
  if (number == 0) {
    std::sort(halves.begin(), halves.end());
    std::sort(woken.begin(), woken.end());
    std::printf(
        "%s, %zu bytes: half a round trip %.1f ns, median %.1f; both asleep %.1f us, "
        "median %.1f\n",
        fabric, bytes, halves[0], halves[halves.size() / 2], woken[0], woken[woken.size() / 2]);
  }
  ++board.left;
  while (board.left < 2) engine.progress();
}

void stream(const char* fabric, Board& board, int number, std::size_t bytes) {
  pin(number);
  Engine engine(fabric, board, number);
  await_all(board, 2);
  mad_peer* const peer = engine.peer(1 - number);
  const int messages =
      static_cast<int>(std::clamp<std::size_t>((std::size_t{256} << 20) / bytes, 64, 100000));
  std::vector<char> memory(bytes);
  std::vector<mad_op> ops(64);
  double best = 0;
  for (std::uint64_t round = 1; round <= 20; ++round) {
    const auto begin = Clock::now();
    if (number == 0) {
      for (int i = 0; i < messages; ++i) {
        while (engine.in_flight == 64) engine.progress();
        const int sent = mad_send(engine.get(), peer, 1, "x", 1, memory.data(), bytes, nullptr,
                                  MAD_PATH_AUTO, &ops[static_cast<std::size_t>(i % 64)]);
        if (sent < 0) fail("sending");
        if (sent == MAD_IN_PROGRESS) ++engine.in_flight;
      }
      while (engine.heard < round) engine.progress();
    } else {
      while (engine.heard < round * static_cast<std::uint64_t>(messages) || engine.receiving) {
        engine.progress();
      }
      engine.send(peer, 8);
    }
    const std::chrono::duration<double> took = Clock::now() - begin;
    best = std::max(best, static_cast<double>(bytes) * messages / took.count() / 1e6);
  }
  if (number == 0) std::printf("%s, %zu bytes: %.0f MB/s\n", fabric, bytes, best);
  ++board.left;
  while (board.left < 2) engine.progress();
}

void meeting(const char* fabric, Board& board, int number, int processes) {
  Engine engine(fabric, board, number);
  while (board.opened < processes) usleep(1000);
  const std::int64_t before = resident_kib();
  ++board.met;
  while (board.met < processes) sched_yield();
  const std::int64_t begin = now_ns(), idle = work_ns();
  for (int i = 1; i < processes; ++i) engine.send(engine.peer((number + i) % processes), 8);
  int empty = 0;
  while (engine.heard < static_cast<std::uint64_t>(processes - 1)) {
    const auto heard = engine.heard;
    engine.progress();
    empty = engine.heard == heard ? empty + 1 : 0;
    if (empty > 40) {
      (void)mad_engine_wait(engine.get(), 1000);
    } else if (empty > 2) {
      sched_yield();
    }
  }
  const std::int64_t end = now_ns();
  board.work += work_ns() - idle;
  std::int64_t last = board.last;
  while (last < end - begin && !board.last.compare_exchange_weak(last, end - begin)) {
  }
  ++board.left;
  while (board.left < processes) {
    engine.progress();
    (void)mad_engine_wait(engine.get(), 1000);
  }
  board.memory += resident_kib() - before;
  ++board.left;
  while (board.left < 2 * processes) {
    engine.progress();
    (void)mad_engine_wait(engine.get(), 1000);
  }
}

int usage() {
  std::fprintf(stderr, "usage: contact latency|meeting|stream FABRIC [BYTES|PROCESSES]\n");
  return 2;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return usage();
  const std::string what = argv[1];
  const char* const fabric = argv[2];
  const int number = argc > 3 ? std::atoi(argv[3]) : 0;
  const int processes = what == "meeting" ? (number > 1 ? number : 48) : 2;
  if (processes > kMostProcesses) return usage();
  void* const shared =
      mmap(nullptr, sizeof(Board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED) return 1;
  Board& board = *new (shared) Board;
  std::vector<pid_t> children;
  for (int i = 0; i < processes; ++i) {
    const pid_t child = fork();
    if (child < 0) return 1;
    if (child > 0) {
      children.push_back(child);
      continue;
    }
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    const auto bytes = static_cast<std::size_t>(number > 0 ? number : 8);
    if (what == "latency") latency(fabric, board, i, bytes);
    if (what == "stream") stream(fabric, board, i, bytes);
    if (what == "meeting") meeting(fabric, board, i, processes);
    std::fflush(stdout);
    _exit(0);
  }
  int wrong = 0;
  for (const pid_t child : children) {
    int status = 0;
    waitpid(child, &status, 0);
    wrong += status != 0;
  }
  if (what == "meeting" && wrong == 0) {
    std::printf(
        "%s: %d processes: all pairs have spoken after %.1f ms, %.1f ms of work; each has "
        "%.0f KiB a peer\n",
        fabric, processes, static_cast<double>(board.last) / 1e6,
        static_cast<double>(board.work) / 1e6,
        static_cast<double>(board.memory) / processes / (processes - 1));
  }
  return wrong == 0 ? 0 : 1;
}
