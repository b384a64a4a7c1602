// What an engine of the tcp driver may be opened with.
#include "madlike/driver/tcp/raw_peer.h"

namespace mad {
namespace {

class TcpSetup : public TcpRawPeer {};

TEST_F(TcpSetup, TheSmallestPacketsAndPiecesWork) {
  TcpOptions options = on_lo();
  options.max_packet_bytes = options.piece_bytes = 256;
  options.receive_chunks = 1;
  ASSERT_NO_FATAL_FAILURE(open(options));
  enter();
  send(packed(Bytes(256)));
  EXPECT_TRUE(pump([&] { return received_.size() == 256; }));
  send(packed(Bytes(257)));
  expect_end(StatusCode::kProtocol);
}

TEST_F(TcpSetup, OptionsThatLeaveNoRoomToReceiveAreRefused) {
  const std::function<void(TcpOptions&)> lacks[] = {
      [](TcpOptions& options) { options.receive_chunks = 0; },
      [](TcpOptions& options) { options.max_packet_bytes = 255; },
      [](TcpOptions& options) { options.piece_bytes = 255; }};
  for (const auto& lack : lacks) {
    TcpOptions options = on_lo();
    lack(options);
    EXPECT_EQ(open_tcp(options).status().code(), StatusCode::kInvalidArgument);
  }
}

}  // namespace
}  // namespace mad
