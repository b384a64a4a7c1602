// Trace: what an engine decides about each message with payload of mad_send() and mad_recv(), and
// each tagged one but those to itself, which have no plan, as lines of text; at its end, a table.
//
// The environment variable MAD_TRACE asks for it: the name of a file to append to, in which %p is
// the process's id, or "-" or "stderr".  An engine without it has no Trace.  Lines are written one
// by one and whole, so that engines and processes may share a file.
//
// Predicted is half a round trip to a receiver that waits with one run of memory
// (datatype_path/plan/prediction.h); measured, from the decision to the completion of the send.  So
// a send that waits for its receiver or its turn takes longer than predicted, and one that somebody
// buffered is complete earlier: how many were complete when mad_send() returned stands beside.
// What is staged, referenced and sent in packets is what the plans say (Policy::work()); in memory
// that a fabric lends all of it is copied (MessageCounters).
//
// Types are told apart by their text alone (brief()).  Memory is bounded: beyond kMaxRows of them
// the table has one row for all others.
#ifndef NETMOD_ABI_TRACE_H_
#define NETMOD_ABI_TRACE_H_

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <tuple>

#include "datatype_path/describe/type_desc.h"
#include "datatype_path/plan/plan.h"
#include "datatype_path/plan/prediction.h"
#include "netmod/abi/mad.h"

namespace mad {

class Trace {
 public:
  static constexpr std::size_t kMaxRows = 1024;
  enum class Way { kSend, kReceive };

  struct Decision {
    Way way = Way::kSend;
    std::uint64_t group = 0;         // the caller's
    std::uint32_t peer = 0;          // its number
    const TypeDesc* type = nullptr;  // null: bytes
    std::uint64_t count = 0;
    std::uint64_t bytes = 0;
    mad_path asked = MAD_PATH_AUTO;
    mad_path taken = MAD_PATH_AUTO;  // as mad_counters has it
    Plan plan;
    SendWork work;            // sends
    double predicted_ns = 0;  // sends
  };

 private:
  struct Row;
  using Clock = std::chrono::steady_clock;

 public:
  /// What the engine keeps of a message until it is done.
  class Message {
    friend class Trace;
    Row* row = nullptr;
    Clock::time_point begin;
    double predicted_ns = 0;
  };

  /// By MAD_TRACE; null where it is unset or empty, and where the file cannot be written, which
  /// takes a line on stderr.  `fabric` is for the table's heading.
  static std::unique_ptr<Trace> from_environment(const std::string& fabric);
  ~Trace();
  Trace(const Trace&) = delete;
  Trace& operator=(const Trace&) = delete;

  /// Writes the line; the message's time begins now.
  Message decided(const Decision& decision);
  /// The message is complete, without an error.  Nothing is told of one that was not decided about.
  void done(const Message& message, bool at_once);
  /// Writes the table; nothing if there is no memory for it.
  void summarize() noexcept;

 private:
  struct Row {
    std::uint64_t messages = 0;
    std::uint64_t bytes = 0;
    std::array<std::uint64_t, MAD_PATH_COUNT> by_path{};
    std::uint64_t staged = 0;
    std::uint64_t referenced = 0;
    std::uint64_t packets = 0;
    std::uint64_t done = 0;
    std::uint64_t at_once = 0;
    double predicted_ns = 0;  // of those done
    double measured_ns = 0;   // of those done
  };
  using Key = std::tuple<std::uint64_t, Way, std::string>;  // group, way, type

  Trace(int file, bool owned, std::string fabric);
  Row& row_of(Key key);
  std::string table() const;
  void write(const std::string& text);

  int file_;  // -1: it could not be written to
  const bool owned_;
  const std::string fabric_;
  std::map<Key, Row> rows_;
  std::array<Row, 2> others_;  // by way
};

}  // namespace mad

#endif  // NETMOD_ABI_TRACE_H_
