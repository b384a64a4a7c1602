#include "madlike/driver/ucx/hole.h"

namespace mad {

void HoleWatch::begin(UcxLane& lane) {
  moved_ = true;
  due_ = true;  // also if busy: it goes behind what the one who died now may have left
  if (busy()) return;
  UcxLaneOffer own;
  (void)lane.prepare(&own);
  if (!lane.wire(&self_, own).ok()) return;  // without memory for that nothing can be said
  lane_ = &lane;
  lane.add_user();
  sent_ = arrived_ = 0;
}

bool HoleWatch::look(PolledClock::time_point now) {
  const UcxHeader header{kTag, 0, 0};
  if (due_ && lane_->send(self_.get(), UcxMessage::kHello, header, {}, 0, nullptr) == UCS_OK) {
    due_ = false;
    ++sent_;
  }
  if (moved_) deadline_ = now + timeout_;
  moved_ = false;
  const bool all_arrived = !due_ && arrived_ >= sent_;
  const bool hole = !all_arrived && now >= deadline_;
  if (hole || all_arrived) end();
  return hole;
}

void HoleWatch::end() {
  lane_->drop_user();
  lane_ = nullptr;
  self_.reset();
}

}  // namespace mad
