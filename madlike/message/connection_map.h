// ConnectionMap: the endpoints of one driver's connections, by their ids, which are dense and never
// used again.
//
// It stands in pages, and a page all of whose connections were freed goes: an engine whose peers
// come and go does not grow.  What stays of a freed connection is that it was one, so that what a
// driver still says of it is not taken for a new peer's.
#ifndef MADLIKE_MESSAGE_CONNECTION_MAP_H_
#define MADLIKE_MESSAGE_CONNECTION_MAP_H_

#include <array>
#include <cstddef>
#include <memory>
#include <vector>

#include "madlike/driver/driver.h"

namespace mad {

class Endpoint;

class ConnectionMap {
 public:
  /// `freed` is found for connections that were freed.
  explicit ConnectionMap(Endpoint* freed) : freed_(freed) {}

  /// Null: none was bound to it.
  Endpoint* find(ConnectionId id) const {
    const std::size_t number = id / kPage;
    if (number >= pages_.size()) return nullptr;
    const Page& page = pages_[number];
    return page.endpoints ? (*page.endpoints)[id % kPage] : freed_;
  }
  /// Not of a freed one.
  void bind(ConnectionId id, Endpoint& endpoint) { slot(id) = &endpoint; }
  /// Nobody means its endpoint by it any more.  Once, bound or not.
  void free(ConnectionId id) {
    slot(id) = freed_;
    Page& page = pages_[id / kPage];
    if (++page.freed == kPage) page.endpoints.reset();
  }

 private:
  static constexpr std::size_t kPage = 256;
  struct Page {
    std::unique_ptr<std::array<Endpoint*, kPage>> endpoints =
        std::make_unique<std::array<Endpoint*, kPage>>();  // null: all were freed
    std::size_t freed = 0;
  };
  Endpoint*& slot(ConnectionId id) {
    while (pages_.size() <= id / kPage) pages_.emplace_back();
    return (*pages_[id / kPage].endpoints)[id % kPage];
  }

  Endpoint* freed_;
  std::vector<Page> pages_;
};

}  // namespace mad

#endif  // MADLIKE_MESSAGE_CONNECTION_MAP_H_
