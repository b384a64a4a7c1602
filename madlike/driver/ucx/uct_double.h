// UctDouble: for tests, UCX that refuses what it is asked, or says of itself what it never says.
//
// Calls of its functions pass through uct_double.cc, wherever they come from.
#ifndef MADLIKE_DRIVER_UCX_UCT_DOUBLE_H_
#define MADLIKE_DRIVER_UCX_UCT_DOUBLE_H_

#include <uct/api/uct.h>

#include <cstdint>
#include <functional>
#include <map>
#include <string>

namespace mad {

class UcxLane;

/// One at a time; without one, UCX is as it is.
struct UctDouble {
  UctDouble();
  ~UctDouble();
  UctDouble(const UctDouble&) = delete;
  UctDouble& operator=(const UctDouble&) = delete;

  /// From now on sends from this lane, which was opened while this existed, fail with `status`; and
  /// who asks to be told when something has left is not told.
  void refuse_sends(const UcxLane* lane);
  /// UCX brings a message that the receiver may not keep.
  void bring(const UcxLane* lane, std::uint8_t kind, void* message, std::size_t size);

  std::string refused;  // the name of a function, whose calls fail with `status`
  ucs_status_t status = UCS_ERR_IO_ERROR;
  std::function<void(uct_iface_attr_t*)> change_attributes;

  struct Opened {
    uct_iface_h interface = nullptr;
    std::map<std::uint8_t, uct_am_callback_t> handlers;
  };
  std::map<const void*, Opened> opened;  // by its lane
};

}  // namespace mad

#endif  // MADLIKE_DRIVER_UCX_UCT_DOUBLE_H_
