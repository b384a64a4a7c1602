// TcpDriver: the class behind open_tcp().  Its parts stand in one file each: setup.cc (connections
// come), ending.cc (and end), post.cc (sends and writes), progress.cc (the poll path).
#ifndef MADLIKE_DRIVER_TCP_DRIVER_H_
#define MADLIKE_DRIVER_TCP_DRIVER_H_

#include <array>
#include <memory>
#include <utility>
#include <vector>

#include "madlike/driver/door/door_driver.h"
#include "madlike/driver/driver.h"
#include "madlike/driver/memory/chunk_pool.h"
#include "madlike/driver/tcp/connection.h"
#include "madlike/driver/tcp/tcp.h"

namespace mad {

class TcpDriver final : public DoorDriver<TcpConnection> {
 public:
  TcpDriver(const TcpOptions& options, Door door);
  /// Peers that were not disconnected see an engine that died.
  ~TcpDriver() override;

  Status post_send(ConnectionId connection, SegmentList packet, void* context) override;
  Status post_lent(ConnectionId connection, PacketWriter& writer) override;
  void cork(ConnectionId connection) override;
  void uncork(ConnectionId connection) override;
  Status post_write(ConnectionId connection, SegmentList packet, const ExposureToken& token,
                    std::uint64_t offset, void* context) override;
  Status place_rest(ConnectionId connection, ScatteredMemory& memory, std::uint64_t first) override;
  std::size_t poll(Completion* out, std::size_t capacity) override;
  Status watch(std::vector<pollfd>* out) override;
  void release(void* buffer) override;
  bool arrived(ConnectionId connection) const override;
  void disconnect(ConnectionId connection) override;

 private:
  // So many connections are read without asking first which of them have something.
  static constexpr std::size_t kReadUnasked = 2;
  // Runs that a write is read to at once.
  static constexpr std::size_t kMaxRuns = 128;

  enum class Read {
    kNothing,  // also: the connection ends
    kLess,     // than was asked for: the socket is empty
    kAllAsked
  };

  // setup.cc
  TcpConnection& add_connection(const DoorAddress& address) override;
  void set_state(TcpConnection& connection, State state) override;
  void on_socket(TcpConnection& connection) override;

  // ending.cc
  void close_socket(TcpConnection& connection);
  void post_last(TcpConnection& connection);
  void end(TcpConnection& connection, const Status& why) override;

  // progress.cc
  bool looking_is_due();
  void look();
  void on_readable(TcpConnection& connection) override;
  void list_readable(TcpConnection& connection);
  void flush_waiting();
  void flush(TcpConnection& connection);
  bool reads_unasked() const { return standing_.size() <= kReadUnasked; }
  std::size_t receive_unasked(Completion* out, std::size_t capacity);
  std::size_t receive_readable(Completion* out, std::size_t capacity);
  std::size_t receive(TcpConnection& connection, Completion* out, std::size_t capacity);
  bool take_records(TcpConnection& connection, Completion* out, std::size_t capacity,
                    std::size_t* count);
  void give_packet(TcpConnection& connection, Segment bytes, Completion* out);
  bool begin_write(TcpConnection& connection);
  bool fill_write(TcpConnection& connection);
  void lost_target(const TcpConnection& connection);
  std::size_t write_target(const TcpConnection& connection, std::size_t size, Segment* out,
                           std::size_t capacity);
  Read read(TcpConnection& connection);
  void on_end_of_stream(TcpConnection& connection, int error);

  // post.cc
  void wait_to_send(TcpConnection& connection);
  Status post(TcpConnection& connection, const TcpRecord& record, SegmentList packet,
              Completion::Kind kind, void* context);
  Status broke(const TcpConnection& connection);

  TcpOptions options_;
  const TcpInbox::Limits limits_;
  ChunkPool chunks_;                      // that connections receive to
  std::vector<TcpConnection*> standing_;  // connected or closing

  std::vector<ConnectionId> readable_;         // connections to be read in this poll, or the next
  std::vector<ConnectionId> sending_;          // whose outbox is not empty
  std::vector<TcpOutbox::Finished> finished_;  // scratch of flush()
  std::array<Segment, kMaxRuns + 1> places_;   // scratch of read() and fill_write()
  std::uint32_t polls_ = 0;
  bool last_first_ = false;  // which of two connections is read first
};

}  // namespace mad

#endif  // MADLIKE_DRIVER_TCP_DRIVER_H_
