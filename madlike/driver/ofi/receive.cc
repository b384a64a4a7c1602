// What came: the headers of packets, and their buffers, which go back when they are released.
#include <string>

#include "madlike/driver/ip/address.h"
#include "madlike/driver/ofi/driver.h"

namespace mad {

bool OfiDriver::translate_receive(ReceiveBuffer* buffer, std::size_t bytes, Completion* out) {
  receives_.taken();
  const std::optional<OfiHeader> header = OfiHeader::read({buffer->bytes, bytes});
  OfiConnection* const found = header ? find(OfiTag::connection(header->tag)) : nullptr;
  const bool known = found && header->tag == found->tag && header->number == 0 &&
                     found->state != State::kGone &&
                     take_header(*found, *header, bytes - OfiHeader::kBytes);
  if (!known) {
    receives_.give_back(buffer);
    return false;
  }
  OfiConnection& connection = *found;
  buffer->connection = connection.id;
  if (header->kind != OfiHeader::Kind::kPacket || connection.state == State::kClosing) {
    if (header->kind == OfiHeader::Kind::kLast) {
      on_last(connection);
      receives_.give_back(buffer);
    } else {
      release(buffer);
    }
    return false;
  }
  connection.told = true;
  out->kind = Completion::Kind::kReceived;
  out->connection = connection.id;
  out->context = nullptr;
  out->bytes = {buffer->bytes + OfiHeader::kBytes, bytes - OfiHeader::kBytes};
  out->rest = header->rest;
  out->buffer = buffer;
  out->status = Status();
  return true;
}

// Whether the peer may send that now; if not, the connection ends.
bool OfiDriver::take_header(OfiConnection& connection, const OfiHeader& header, std::size_t bytes) {
  const char* wrong = connection.arrived(header);
  if (wrong == nullptr) {
    wrong = connection.take(header, bytes);
    if (wrong == nullptr) return true;
    // Nobody is told of it, so that nobody releases it.
    if (header.kind != OfiHeader::Kind::kLast) connection.credit.released(&credits_);
  }
  end_soon(connection.id, Status(StatusCode::kProtocol,
                                 to_text(connection.address) + " sent " + std::string(wrong)));
  return false;
}

void OfiDriver::on_last(OfiConnection& connection) {
  connection.peer_finished = true;
  if (connection.state != State::kClosing) {
    end_soon(connection.id, StatusCode::kClosed);
  } else if (connection.last_sent) {
    end_soon(connection.id, connection.gone);
  }
}

void OfiDriver::release(void* released) {
  auto* const buffer = static_cast<ReceiveBuffer*>(released);
  receives_.give_back(buffer);
  if (!credits_.counts()) return;
  receives_.replenish(fabric_->receives(), endpoints_.size());  // it stands before it is granted
  OfiConnection* const connection = find(buffer->connection);
  if (!connection || connection->state == State::kGone) {
    credits_.give_back(1);
    return;
  }
  connection->credit.released(&credits_);
  if (connection->credit.is_much_owed()) look_after(*connection);
}

}  // namespace mad
