#include "netmod/piggyback/use.h"

#include <mpi.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>
#include <vector>

#include "netmod/piggyback/timeline.h"

namespace mad::piggyback {
namespace {

constexpr int kMostLines = 20;  // that a process prints of races, or of who waited

int world_rank() {
  int rank = 0;
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  return rank;
}

int world_size() {
  int size = 0;
  PMPI_Comm_size(MPI_COMM_WORLD, &size);
  return size;
}

/// Reports races as they are found, and how many there were.
class Races final : public Use {
 public:
  const void* value() const override { return clock_.value(); }
  std::size_t value_bytes() const override { return clock_.value_bytes(); }
  void received(const Receive& receive, const void* value, std::size_t bytes) override {
    finder_.received(receive, value, bytes);
  }
  void received_inside(const void* value, std::size_t bytes) override {
    clock_.merge(value, bytes);
  }

  void finish() override {
    unsigned long long mine[] = {finder_.races(), finder_.wildcards()}, all[] = {0, 0};
    PMPI_Reduce(mine, all, 2, MPI_UNSIGNED_LONG_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank_ != 0) return;
    std::fprintf(stderr, "mad piggyback: %llu of %llu receives of any source raced (%s)\n", all[0],
                 all[1],
                 clock_.exact() ? "vector clocks: these and no others that were seen to"
                                : "Lamport clocks: these for certain, others perhaps");
  }

 private:
  void tell(const Race& race) const {
    if (finder_.races() > kMostLines) return;
    const bool world = race.receive.comm == static_cast<std::uint64_t>(MPI_COMM_WORLD);
    std::fprintf(stderr,
                 "mad piggyback: rank %d: a receive of any source and %s %d on %s took the message "
                 "of rank %d; that of rank %d could have come first\n",
                 rank_, race.receive.any_tag ? "any tag," : "tag", race.receive.tag,
                 world ? "MPI_COMM_WORLD" : "another communicator", race.receive.source,
                 race.other_source);
  }

  const int rank_ = world_rank();
  Clock clock_{rank_, world_size()};
  RaceFinder finder_{&clock_, [this](const Race& race) { tell(race); }};
};

/// Keeps the calls, and writes them all to a file and a picture.
class Trace final : public Use {
 public:
  const void* value() const override { return &sent_; }
  std::size_t value_bytes() const override { return sizeof(sent_); }
  void sending() override { sent_.time = now(); }
  void received(const Receive&, const void* value, std::size_t bytes) override {
    received_inside(value, bytes);
  }
  // Of several messages in one call it was the latest that was waited for.
  void received_inside(const void* value, std::size_t bytes) override {
    Sent its;
    if (bytes != sizeof(its)) return;
    std::memcpy(&its, value, bytes);
    if (its.time >= last_.time) last_ = its;
  }

  void called(const char* name, std::int64_t start, std::int64_t end) override {
    Call call;
    std::snprintf(call.name, sizeof(call.name), "%s", name);
    call.start = start;
    call.end = end;
    call.rank = rank_;
    call.waited = last_.rank;
    call.sent = last_.time;
    last_ = {-1, 0, 0};
    if (calls_.size() < most_) {
      calls_.push_back(call);
    } else {
      ++dropped_;
    }
  }

  void finish() override {
    const std::vector<Call> all = gathered();
    unsigned long long dropped = 0;
    PMPI_Reduce(&dropped_, &dropped, 1, MPI_UNSIGNED_LONG_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank_ != 0) return;
    const char* const named = std::getenv("MAD_PIGGYBACK_FILE");
    const std::string file = named != nullptr ? named : "mad_trace.json";
    write(file, chrome_trace(all));
    write(file.substr(0, file.rfind(".json")) + ".svg", picture(all));
    std::fputs(waits(all, kMostLines).c_str(), stderr);
    if (dropped > 0) std::fprintf(stderr, "mad piggyback: %llu later calls left out\n", dropped);
  }

 private:
  struct Sent {
    std::int32_t rank = -1;
    std::int32_t unused = 0;
    std::int64_t time = 0;
  };

  std::vector<Call> gathered() const {
    const int ranks = world_size();
    const int mine = static_cast<int>(calls_.size() * sizeof(Call));
    std::vector<int> bytes(static_cast<std::size_t>(ranks)), places(bytes);
    PMPI_Gather(&mine, 1, MPI_INT, bytes.data(), 1, MPI_INT, 0, MPI_COMM_WORLD);
    for (std::size_t i = 1; i < bytes.size(); ++i) places[i] = places[i - 1] + bytes[i - 1];
    const auto whole = static_cast<std::size_t>(places.back()) +
                       static_cast<std::size_t>(bytes.back());  // of rank 0
    std::vector<Call> all(rank_ == 0 ? whole / sizeof(Call) : 0);
    PMPI_Gatherv(calls_.data(), mine, MPI_BYTE, all.data(), bytes.data(), places.data(), MPI_BYTE,
                 0, MPI_COMM_WORLD);
    return all;
  }

  static void write(const std::string& name, const std::string& text) {
    std::ofstream file(name);
    file << text;
    file.close();
    if (!file) std::fprintf(stderr, "mad piggyback: %s cannot be written\n", name.c_str());
  }

  const int rank_ = world_rank();
  // Of each process, such that those of all can be gathered by 31-bit counts.
  const std::size_t most_ = std::min<std::size_t>(
      100000, (std::size_t{1} << 30) / sizeof(Call) / static_cast<std::size_t>(world_size()));
  Sent sent_{rank_, 0, 0};
  Sent last_{};
  std::vector<Call> calls_;
  unsigned long long dropped_ = 0;
};

}  // namespace

std::int64_t now() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

std::unique_ptr<Use> make_use(const char* name) {
  const std::string wanted = name;
  if (wanted == "races") return std::make_unique<Races>();
  if (wanted == "trace") return std::make_unique<Trace>();
  return nullptr;
}

}  // namespace mad::piggyback
