#include "perf/compare/channel.h"

#include <errno.h>
#include <sched.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <stdexcept>

namespace compare {
namespace {

std::FILE* open_pipe(const std::string& path, const char* mode) {
  std::FILE* const file = std::fopen(path.c_str(), mode);
  if (file == nullptr) throw std::runtime_error(path + ": " + std::strerror(errno));
  return file;
}

}  // namespace

Timing summary(const Command& command, double* microseconds) {
  const int count = command.iterations;
  const int messages = command.window > 0 ? command.window : 1;
  const double share = messages * (command.window == 0 || command.both_ways ? 2 : 1);
  std::sort(microseconds, microseconds + count);
  return {microseconds[0] / share,
          (microseconds[(count - 1) / 2] + microseconds[count / 2]) / 2 / share,
          {}};
}

Channel::Channel(const std::string& prefix, int rank)
    : commands_(open_pipe(prefix + "." + std::to_string(rank), "r")),
      answers_(rank == 0 ? open_pipe(prefix + ".out", "w") : nullptr) {
  if (answers_ != nullptr) {
    std::fputs("ready\n", answers_);
    std::fflush(answers_);
  }
}

Channel::~Channel() {
  std::fclose(commands_);
  if (answers_ != nullptr) std::fclose(answers_);
}

bool Channel::next(Command* command) {
  std::array<char, 512> line;
  if (std::fgets(line.data(), line.size(), commands_) == nullptr) return false;
  if (std::strcmp(line.data(), "quit\n") == 0) return false;
  std::array<char, 100> layout, path;
  long long bytes = 0;
  unsigned long long stamp = 0;
  int ways = 0;
  if (std::sscanf(line.data(), "cell %99s %lld %99s %d %d %d %llu", layout.data(), &bytes,
                  path.data(), &command->iterations, &command->window, &ways, &stamp) != 7 ||
      bytes <= 0 || command->iterations <= 0 || command->window < 0 || ways < 1 || ways > 2) {
    throw std::runtime_error(std::string("no command: ") + line.data());
  }
  command->layout = layout.data();
  command->path = path.data();
  command->bytes = bytes;
  command->both_ways = ways == 2;
  command->stamp = stamp;
  return true;
}

void Channel::answer(const Timing& timing) {
  if (answers_ == nullptr) return;
  const std::string note = timing.note.empty() ? "" : " " + timing.note;
  std::fprintf(answers_, "time %.3f %.3f%s\n", timing.best, timing.median, note.c_str());
  std::fflush(answers_);
}

void Channel::complain(const std::string& why) {
  if (answers_ == nullptr) return;
  std::fprintf(answers_, "wrong %s\n", why.c_str());
  std::fflush(answers_);
}

void Channel::decline(const std::string& why) {
  if (answers_ == nullptr) return;
  std::fprintf(answers_, "lacks %s\n", why.c_str());
  std::fflush(answers_);
}

void stay_on_processor(int rank) {
  cpu_set_t mine, all;
  if (sched_getaffinity(0, sizeof(all), &all) != 0) return;
  int skip = rank % CPU_COUNT(&all);
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (!CPU_ISSET(cpu, &all) || skip-- > 0) continue;
    CPU_ZERO(&mine);
    CPU_SET(cpu, &mine);
    (void)sched_setaffinity(0, sizeof(mine), &mine);
    return;
  }
}

}  // namespace compare
