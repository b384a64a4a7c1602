#include "madlike/driver/libfabric/fid.h"

#include <rdma/fi_errno.h>

#include <string>

#include "gtest/gtest.h"

namespace mad {
namespace {

/// An object of a class of its own, which counts how often it was closed.
struct Object {
  Object() {
    static fi_ops ops = {};
    ops.size = sizeof(ops);
    ops.close = [](::fid* closed) {
      ++*static_cast<int*>(closed->context);
      return 0;
    };
    fid.ops = &ops;
    fid.context = &closed;
  }
  int closed = 0;
  ::fid fid{};
};

TEST(Fid, AnObjectIsClosedByItsOwner) {
  Object object;
  {
    FidPtr<Object> owner;
    const auto open = [&](Object** out) {
      *out = &object;
      return 0;
    };
    EXPECT_TRUE(open_one(owner, "fi_object", open).ok());
    EXPECT_EQ(owner.get(), &object);
    EXPECT_EQ(object.closed, 0);
  }
  EXPECT_EQ(object.closed, 1);
}

TEST(Fid, WhatCannotBeOpenedIsAnErrorWithItsName) {
  Object before;
  {
    FidPtr<Object> owner(&before);
    const Status status = open_one(owner, "fi_object", [](Object**) { return -FI_ENOSYS; });
    EXPECT_EQ(status.code(), StatusCode::kInternal);
    EXPECT_EQ(status.message(), std::string("fi_object: ") + fi_strerror(FI_ENOSYS));
    EXPECT_EQ(owner.get(), &before) << "only success changes it";
  }
  EXPECT_EQ(before.closed, 1);
}

}  // namespace
}  // namespace mad
