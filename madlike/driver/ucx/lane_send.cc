// How a lane sends: which of UCX's calls a message, a piece, a write goes by.
#include <array>
#include <cstring>

#include "madlike/base/copy_bytes.h"
#include "madlike/driver/ucx/lane.h"

namespace mad {
namespace {

std::byte* skip(void* out, std::size_t pad) {
  if (pad > 0) std::memset(out, 0, pad);
  return static_cast<std::byte*>(out) + pad;
}

/// Copies the header and all segments to where UCX has room for them.
struct Gather {
  const UcxHeader& header;
  std::size_t header_bytes;
  SegmentList content;
  std::size_t pad;

  std::size_t to(std::byte* out) const {
    std::byte* const first = out;
    std::memcpy(out, &header, header_bytes);
    out += header_bytes;
    for (const Segment& segment : content) {
      copy_bytes(out, segment.data, segment.size);
      out += segment.size;
    }
    return static_cast<std::size_t>(out - first);
  }
  static std::size_t pack(void* out, void* gather) {
    const auto& self = *static_cast<const Gather*>(gather);
    return self.pad + self.to(skip(out, self.pad));
  }
};

struct Piece {
  UcxPieceHeader header;
  std::size_t bytes;
  PacketWriter& writer;
  std::size_t pad;

  static std::size_t pack(void* out, void* piece) {
    const auto& [header, bytes, writer, pad] = *static_cast<const Piece*>(piece);
    std::byte* const begin = skip(out, pad);
    std::memcpy(begin, &header, sizeof(header));
    writer.write({begin + sizeof(header), bytes});
    return pad + sizeof(header) + bytes;
  }
};

}  // namespace

ucs_status_t UcxLane::send(uct_ep_h endpoint, UcxMessage kind, const UcxHeader& header,
                           SegmentList content, std::size_t bytes, uct_completion_t* done) {
  const auto id = static_cast<std::uint8_t>(kind);
  const bool writes = kind == UcxMessage::kWrite || kind == UcxMessage::kPull;
  const std::size_t header_bytes = writes ? sizeof(header) : UcxHeader::kTagBytes;
  if (content.count == 1 && !writes && header_bytes + bytes <= max_short_) {
    return uct_ep_am_short(endpoint, id, header.tag, content.first->data,
                           static_cast<unsigned>(bytes));
  }
  Gather gather{header, header_bytes, content, pad_};
  if (header_bytes + bytes <= max_short_) {
    std::array<std::byte, kMostShort> gathered;
    const std::size_t size = gather.to(gathered.data()) - UcxHeader::kTagBytes;
    return uct_ep_am_short(endpoint, id, header.tag, gathered.data() + UcxHeader::kTagBytes,
                           static_cast<unsigned>(size));
  }
  if (header_bytes + bytes <= max_copied_) {
    const ssize_t packed = uct_ep_am_bcopy(endpoint, id, Gather::pack, &gather, 0);
    return packed < 0 ? static_cast<ucs_status_t>(packed) : UCS_OK;
  }
  std::array<uct_iov_t, kMostIov> list;
  std::size_t count = 0;
  for (const Segment& segment : content) {
    if (segment.size == 0) continue;
    list[count++] = {segment.data, segment.size, UCT_MEM_HANDLE_NULL, 0, 1};
  }
  return uct_ep_am_zcopy(endpoint, id, &header, static_cast<unsigned>(header_bytes), list.data(),
                         count, 0, done);
}

ucs_status_t UcxLane::send_piece(uct_ep_h endpoint, std::uint64_t tag, PacketWriter& writer) {
  const std::size_t left = writer.left(), most = max_copied_ - sizeof(UcxPieceHeader);
  const std::size_t pieces = (left - 1) / most + 1;
  const std::size_t bytes = (left - 1) / pieces + 1;
  const auto id = static_cast<std::uint8_t>(UcxMessage::kPiece);
  const UcxPieceHeader header{tag, left - bytes};
  Piece piece{header, bytes, writer, pad_};
  const ssize_t packed = uct_ep_am_bcopy(endpoint, id, Piece::pack, &piece, 0);
  return packed < 0 ? static_cast<ucs_status_t>(packed) : UCS_OK;
}

// tcp has sent when it takes the next message; datagrams are sent again until they are answered.
ucs_status_t UcxLane::has_left(uct_ep_h endpoint, uct_pending_req_t* later,
                               uct_completion_t* done) {
  if (transport_ == UcxTransport::kUd) return uct_ep_flush(endpoint, 0, done);
  if (transport_ != UcxTransport::kTcp) return UCS_OK;
  return uct_ep_pending_add(endpoint, later, 0) == UCS_OK ? UCS_INPROGRESS : UCS_OK;
}

}  // namespace mad
