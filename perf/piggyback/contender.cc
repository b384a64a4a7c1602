// One MPI in the slides' table: what a datatype costs that is made for each message, and what it
// costs to send a value along.
//
// Two ranks play ping-pong.  Layout `fields-N` sends 32 bytes as a struct of N fields that is
// created, committed and freed for each message, and receives them as they are; `fields-1` sends
// them as they are, too.  Layout `piggyback` sends 32 bytes and a value of 8, in a way that is
// named where other programs have a data path: `bare` without the value, `struct` by a struct made
// for each message, `proto` by a proto datatype, `attached` to the communicator, `asked` the same
// where the receiver asks for each.
//
// Plain MPI.  Built by any mpicxx, from the checkout's root:
//   mpicxx -std=c++17 -O2 -I. perf/piggyback/contender.cc perf/compare/channel.cc
// and driven by tools/mad bench piggyback.
#include <mpi.h>

#include <array>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "perf/compare/channel.h"
#include "perf/compare/mpi_contender.h"

#if __has_include(<mpix_mad.h>)
#include <mpix_mad.h>
#define HAVE_MAD 1
#endif

namespace piggyback {
namespace {

using compare::Command;
using compare::Timing;

constexpr int kTag = 306;
constexpr int kWarmups = 20;
constexpr int kBytes = 32;
constexpr int kMostFields = 32;
constexpr int kGap = 8;  // bytes between two fields

/// The bytes of the payload, each with a place of its own in a message of `stamp`.
std::array<unsigned char, kBytes> pattern(std::uint64_t stamp, int rank) {
  std::array<unsigned char, kBytes> bytes{};
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    bytes[i] = static_cast<unsigned char>(stamp * 31 + i * 7 + static_cast<unsigned>(rank));
  }
  return bytes;
}

/// One way to send and receive; what stands in its memory is prepared and verified once a command.
class Way {
 public:
  Way() = default;
  virtual ~Way() = default;
  Way(const Way&) = delete;
  Way& operator=(const Way&) = delete;

  virtual void prepare(std::uint64_t stamp, int rank) = 0;
  virtual void send(int to) = 0;
  virtual void receive(int from) = 0;
  /// Empty, or what of the bytes from `rank` is wrong.
  virtual std::string verify(std::uint64_t stamp, int rank) const = 0;
};

class Fields : public Way {
 public:
  explicit Fields(int count) : count_(count), each_(kBytes / count) {}

  void prepare(std::uint64_t stamp, int rank) override {
    const auto bytes = pattern(stamp, rank);
    for (int i = 0; i < kBytes; ++i) {
      memory_[static_cast<std::size_t>(i / each_ * (each_ + kGap) + i % each_)] =
          bytes[static_cast<std::size_t>(i)];
    }
    received_.fill(0);
  }
  void send(int to) override {
    if (count_ == 1) {
      MPI_Send(memory_.data(), kBytes, MPI_BYTE, to, kTag, MPI_COMM_WORLD);
      return;
    }
    std::array<int, kMostFields> lengths;
    std::array<MPI_Aint, kMostFields> displacements;
    std::array<MPI_Datatype, kMostFields> types;
    MPI_Datatype type;
    for (int i = 0; i < count_; ++i) {
      const auto field = static_cast<std::size_t>(i);
      lengths[field] = each_;
      MPI_Get_address(&memory_[static_cast<std::size_t>(i * (each_ + kGap))],
                      &displacements[field]);
      types[field] = MPI_BYTE;
    }
    MPI_Type_create_struct(count_, lengths.data(), displacements.data(), types.data(), &type);
    MPI_Type_commit(&type);
    MPI_Send(MPI_BOTTOM, 1, type, to, kTag, MPI_COMM_WORLD);
    MPI_Type_free(&type);
  }
  void receive(int from) override {
    MPI_Recv(received_.data(), kBytes, MPI_BYTE, from, kTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  std::string verify(std::uint64_t stamp, int rank) const override {
    return received_ == pattern(stamp, rank) ? "" : "wrong bytes";
  }

 private:
  const int count_, each_;
  std::array<unsigned char, kMostFields*(1 + kGap) + kBytes> memory_{};
  std::array<unsigned char, kBytes> received_{};
};

/// A value and the data of a user's message, which know nothing of each other.
class Piggyback : public Way {
 public:
  void prepare(std::uint64_t stamp, int rank) override {
    value_ = value_of(stamp, rank);
    data_ = pattern(stamp, rank);
    their_value_ = 0;
    their_data_.fill(0);
  }
  std::string verify(std::uint64_t stamp, int rank) const override {
    if (their_data_ != pattern(stamp, rank)) return "wrong data";
    return !carries_value() || their_value_ == value_of(stamp, rank) ? "" : "wrong value";
  }

 protected:
  static long value_of(std::uint64_t stamp, int rank) {
    return static_cast<long>(stamp * 10 + static_cast<unsigned>(rank) + 1);
  }
  virtual bool carries_value() const { return true; }

  long value_ = 0, their_value_ = 0;
  std::array<unsigned char, kBytes> data_{}, their_data_{};
};

class Bare : public Piggyback {
 public:
  void send(int to) override { MPI_Send(data_.data(), kBytes, MPI_BYTE, to, kTag, MPI_COMM_WORLD); }
  void receive(int from) override {
    MPI_Recv(their_data_.data(), kBytes, MPI_BYTE, from, kTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }

 protected:
  bool carries_value() const override { return false; }
};

/// Sends and receives both by one datatype, which a subclass makes.
class ByType : public Piggyback {
 public:
  void send(int to) override {
    MPI_Datatype type = both(&value_, data_.data());
    MPI_Send(MPI_BOTTOM, 1, type, to, kTag, MPI_COMM_WORLD);
    MPI_Type_free(&type);
  }
  void receive(int from) override {
    MPI_Datatype type = both(&their_value_, their_data_.data());
    MPI_Recv(MPI_BOTTOM, 1, type, from, kTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Type_free(&type);
  }

 protected:
  /// Of both fields, by what MPI_Type_create_struct() takes.
  virtual MPI_Datatype make(const int* lengths, const MPI_Aint* displacements,
                            const MPI_Datatype* types) = 0;

 private:
  MPI_Datatype both(long* value, unsigned char* data) {
    const std::array<int, 2> lengths = {1, kBytes};
    const std::array<MPI_Datatype, 2> types = {MPI_LONG, MPI_BYTE};
    std::array<MPI_Aint, 2> displacements;
    MPI_Get_address(value, &displacements[0]);
    MPI_Get_address(data, &displacements[1]);
    return make(lengths.data(), displacements.data(), types.data());
  }
};

class ByStruct : public ByType {
 protected:
  MPI_Datatype make(const int* lengths, const MPI_Aint* displacements,
                    const MPI_Datatype* types) override {
    MPI_Datatype type;
    MPI_Type_create_struct(2, lengths, displacements, types, &type);
    MPI_Type_commit(&type);
    return type;
  }
};

#ifdef HAVE_MAD
class ByProto : public ByType {
 public:
  ByProto() {
    const std::array<int, 2> lengths = {1, MPIX_CNT_UNKNOWN};
    const std::array<MPI_Datatype, 2> types = {MPI_LONG, MPIX_TYPE_UNKNOWN};
    const std::array<MPI_Aint, 2> displacements = {MPIX_UNKNOWN, MPIX_UNKNOWN};
    MPIX_Type_create_pstruct(2, lengths.data(), displacements.data(), types.data(), &proto_);
  }
  ~ByProto() override { MPI_Type_free(&proto_); }

 protected:
  MPI_Datatype make(const int* lengths, const MPI_Aint* displacements,
                    const MPI_Datatype* types) override {
    MPI_Datatype type;
    MPIX_Type_complete_pstruct(2, lengths, displacements, types, proto_, &type);
    return type;
  }

 private:
  MPI_Datatype proto_ = MPI_DATATYPE_NULL;
};

/// The value goes with the communicator's messages; who receives it asks for the last one, or for
/// each.
class ByCommunicator : public Piggyback {
 public:
  explicit ByCommunicator(bool asks_for_each) : asks_for_each_(asks_for_each) {
    MPIX_Mad_piggyback_attach(MPI_COMM_WORLD, &value_, 1, MPI_LONG);
  }
  ~ByCommunicator() override { MPIX_Mad_piggyback_attach(MPI_COMM_WORLD, nullptr, 0, MPI_LONG); }
  void send(int to) override { MPI_Send(data_.data(), kBytes, MPI_BYTE, to, kTag, MPI_COMM_WORLD); }
  void receive(int from) override {
    MPI_Recv(their_data_.data(), kBytes, MPI_BYTE, from, kTag, MPI_COMM_WORLD, &status_);
    if (asks_for_each_) ask(&their_value_);
  }
  std::string verify(std::uint64_t stamp, int rank) const override {
    long last = 0;
    ask(&last);
    const std::string wrong = Piggyback::verify(stamp, rank);
    return wrong.empty() && last != value_of(stamp, rank) ? "wrong value" : wrong;
  }

 protected:
  bool carries_value() const override { return asks_for_each_; }

 private:
  void ask(long* value) const {
    int bytes = 0;
    MPIX_Mad_piggyback_get(&status_, value, 1, MPI_LONG, &bytes);
  }

  const bool asks_for_each_;
  MPI_Status status_{};
};
#endif

std::unique_ptr<Way> way_of(const Command& command) {
  if (command.layout == "piggyback") {
    if (command.path == "bare") return std::make_unique<Bare>();
    if (command.path == "struct") return std::make_unique<ByStruct>();
#ifdef HAVE_MAD
    if (command.path == "proto") return std::make_unique<ByProto>();
    if (command.path == "attached") return std::make_unique<ByCommunicator>(false);
    if (command.path == "asked") return std::make_unique<ByCommunicator>(true);
#endif
  }
  for (const int count : {1, 2, 4, 8, 16, 32}) {
    if (command.layout == "fields-" + std::to_string(count)) return std::make_unique<Fields>(count);
  }
  throw std::runtime_error("no " + command.layout + " " + command.path + " here");
}

class Player {
 public:
  explicit Player(int rank) : rank_(rank) {}

  Timing run(const Command& command) const {
    const auto way = way_of(command);
    std::vector<double> times(static_cast<std::size_t>(command.iterations));
    way->prepare(command.stamp, rank_);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = -kWarmups; i < command.iterations; ++i) {
      const double start = MPI_Wtime();
      if (rank_ == 0) way->send(1);
      way->receive(1 - rank_);
      if (rank_ == 1) way->send(0);
      if (i >= 0) times[static_cast<std::size_t>(i)] = (MPI_Wtime() - start) * 1e6;
    }
    compare::agree(way->verify(command.stamp, 1 - rank_));
    return compare::summary(command, times.data());
  }

 private:
  const int rank_;
};

}  // namespace
}  // namespace piggyback

int main(int argc, char** argv) { return compare::contend<piggyback::Player>(argc, argv); }
