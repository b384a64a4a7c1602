#include "madlike/driver/ucx/hole.h"

namespace mad {

void HoleWatch::begin(UcxLane& lane, PolledClock::time_point now) {
  deadline_ = now + timeout_;
  if (busy()) {
    sent_ = false;  // again, behind what the one who died now may have left
    return;
  }
  UcxLaneOffer own;
  (void)lane.prepare(&own);
  if (!lane.wire(&self_, own).ok()) return;  // without memory for that nothing can be said
  lane_ = &lane;
  lane.add_user();
  sent_ = arrived_ = false;
}

bool HoleWatch::look(PolledClock::time_point now) {
  if (!sent_) {
    arrived_ = false;
    sent_ = lane_->send(self_.get(), UcxMessage::kHello, {kTag, 0, 0}, {}, 0, nullptr) == UCS_OK;
  }
  if (moved_) deadline_ = now + timeout_;
  moved_ = false;
  const bool hole = !arrived_ && now >= deadline_;
  if (hole || arrived_) end();
  return hole;
}

void HoleWatch::end() {
  lane_->drop_user();
  lane_ = nullptr;
  self_.reset();
}

}  // namespace mad
