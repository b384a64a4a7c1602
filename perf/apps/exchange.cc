#include "perf/apps/exchange.h"

#include <algorithm>
#include <set>
#include <stdexcept>

#include "perf/apps/ends.h"
#include "perf/compare/channel.h"

namespace apps {
namespace {

constexpr int kTag = 2511;
constexpr int kParts = 4;
constexpr std::int64_t kLine = 64;  // bytes

void wait_for(std::vector<MPI_Request>& requests) {
  MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
}

int tag_of(std::size_t k) { return kTag + static_cast<int>(k); }

/// Receives, then sends as they are ready, and a wait for all.
class PointToPoint final : public Exchange {
 public:
  PointToPoint(Stage& stage, bool by_hand)
      : ends_(stage, by_hand), requests_(2 * ends_.messages()) {}

  void run() override {
    const std::size_t messages = ends_.messages();
    ends_.begin();
    for (std::size_t k = 0; k < messages; ++k) {
      const End& in = ends_.in(k);
      MPI_Irecv(in.memory, in.count, in.type, ends_.routes()[k].from, tag_of(k), MPI_COMM_WORLD,
                &requests_[k]);
    }
    for (std::size_t k = 0; k < messages; ++k) {
      ends_.prepare(k);
      const End& out = ends_.out(k);
      MPI_Isend(out.memory, out.count, out.type, ends_.routes()[k].to, tag_of(k), MPI_COMM_WORLD,
                &requests_[messages + k]);
    }
    wait_for(requests_);
    ends_.finish();
  }

 private:
  Ends ends_;
  std::vector<MPI_Request> requests_;
};

class Persistent final : public Exchange {
 public:
  Persistent(Stage& stage, bool by_hand) : ends_(stage, by_hand), requests_(2 * ends_.messages()) {
    for (std::size_t k = 0; k < ends_.messages(); ++k) {
      const End& in = ends_.in(k);
      MPI_Recv_init(in.memory, in.count, in.type, ends_.routes()[k].from, tag_of(k), MPI_COMM_WORLD,
                    &requests_[k]);
      if (!ends_.changes()) make_send(k);
    }
  }
  ~Persistent() override {
    for (MPI_Request& request : requests_) MPI_Request_free(&request);
  }

  void run() override {
    const std::size_t messages = ends_.messages();
    if (ends_.changes()) remake();
    MPI_Startall(static_cast<int>(messages), requests_.data());
    for (std::size_t k = 0; k < messages; ++k) {
      ends_.prepare(k);
      MPI_Start(&requests_[messages + k]);
    }
    wait_for(requests_);
    ends_.finish();
  }

 private:
  void make_send(std::size_t k) {
    const End& out = ends_.out(k);
    MPI_Send_init(out.memory, out.count, out.type, ends_.routes()[k].to, tag_of(k), MPI_COMM_WORLD,
                  &requests_[ends_.messages() + k]);
  }
  void remake() {
    ends_.begin();
    for (std::size_t k = 0; k < ends_.messages(); ++k) {
      MPI_Request& request = requests_[ends_.messages() + k];
      if (made_) MPI_Request_free(&request);
      make_send(k);
    }
    made_ = true;
  }

  Ends ends_;
  std::vector<MPI_Request> requests_;
  bool made_ = false;
};

/// One call, on a graph whose n-th edges are the n-th messages.
class Neighbourhood final : public Exchange {
 public:
  Neighbourhood(Stage& stage, bool by_hand) : ends_(stage, by_hand) {
    std::vector<int> from, to;
    for (const Route& route : ends_.routes()) {
      from.push_back(route.from);
      to.push_back(route.to);
    }
    const auto degree = static_cast<int>(from.size());
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, degree, from.data(), MPI_UNWEIGHTED, degree,
                                   to.data(), MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &graph_);
    in_ = sides_of(false);
    if (!ends_.changes()) out_ = sides_of(true);
  }
  ~Neighbourhood() override { MPI_Comm_free(&graph_); }

  void run() override {
    if (ends_.changes()) {
      ends_.begin();
      out_ = sides_of(true);
    }
    for (std::size_t k = 0; k < ends_.messages(); ++k) ends_.prepare(k);
    MPI_Neighbor_alltoallw(MPI_BOTTOM, out_.counts.data(), out_.places.data(), out_.types.data(),
                           MPI_BOTTOM, in_.counts.data(), in_.places.data(), in_.types.data(),
                           graph_);
    ends_.finish();
  }

 private:
  struct Sides {
    std::vector<int> counts;
    std::vector<MPI_Aint> places;
    std::vector<MPI_Datatype> types;
  };
  Sides sides_of(bool out) const {
    Sides sides;
    for (std::size_t k = 0; k < ends_.messages(); ++k) {
      const End& end = out ? ends_.out(k) : ends_.in(k);
      MPI_Aint place;
      MPI_Get_address(end.memory, &place);
      sides.counts.push_back(end.count);
      sides.places.push_back(place);
      sides.types.push_back(end.type);
    }
    return sides;
  }

  Ends ends_;
  MPI_Comm graph_ = MPI_COMM_NULL;
  Sides out_, in_;
};

#if MPI_VERSION >= 4
/// Faces of rows in four parts, each of which leaves when it is packed.
class Partitioned final : public Exchange {
 public:
  Partitioned(Stage& stage, bool by_hand) : ends_(stage, by_hand), requests_(2 * ends_.messages()) {
    if (ends_.changes()) throw compare::Lacking("lists change, and a partitioned send cannot");
    for (std::size_t k = 0; k < ends_.messages(); ++k) {
      const Route& route = ends_.routes()[k];
      parts_.push_back(std::min(route.out.parts(kParts), route.in.parts(kParts)));
      const End in = ends_.part_of(ends_.in(k), route.in, parts_[k]);
      MPI_Precv_init(in.memory, parts_[k], in.count, in.type, route.from, tag_of(k), MPI_COMM_WORLD,
                     MPI_INFO_NULL, &requests_[k]);
      const End out = ends_.part_of(ends_.out(k), route.out, parts_[k]);
      MPI_Psend_init(out.memory, parts_[k], out.count, out.type, route.to, tag_of(k),
                     MPI_COMM_WORLD, MPI_INFO_NULL, &requests_[ends_.messages() + k]);
    }
  }
  ~Partitioned() override {
    for (MPI_Request& request : requests_) MPI_Request_free(&request);
  }

  void run() override {
    const std::size_t messages = ends_.messages();
    MPI_Startall(static_cast<int>(2 * messages), requests_.data());
    for (std::size_t k = 0; k < messages; ++k) {
      const int rows = ends_.routes()[k].out.rows / parts_[k];
      for (int part = 0; part < parts_[k]; ++part) {
        ends_.prepare(k, part * rows, (part + 1) * rows);
        MPI_Pready(part, requests_[messages + k]);
      }
    }
    wait_for(requests_);
    ends_.finish();
  }

 private:
  Ends ends_;
  std::vector<int> parts_;
  std::vector<MPI_Request> requests_;
};
#endif

/// Into the neighbours' memory, between post and wait of those who write here.
class Put final : public Exchange {
 public:
  Put(Stage& stage, bool by_hand) : ends_(stage, by_hand), win_(stage.win()) {
    std::set<int> writers, written;
    for (const Route& route : ends_.routes()) {
      writers.insert(route.from);
      written.insert(route.to);
    }
    writers_ = group_of(writers);
    written_ = group_of(written);
  }
  ~Put() override {
    MPI_Group_free(&writers_);
    MPI_Group_free(&written_);
  }

  void run() override {
    ends_.begin();
    MPI_Win_post(writers_, 0, win_);
    MPI_Win_start(written_, 0, win_);
    for (std::size_t k = 0; k < ends_.messages(); ++k) {
      ends_.prepare(k);
      const End &out = ends_.out(k), there = ends_.there(k);
      MPI_Put(out.memory, out.count, out.type, ends_.routes()[k].to, ends_.there_offset(k),
              there.count, there.type, win_);
    }
    MPI_Win_complete(win_);
    MPI_Win_wait(win_);
    ends_.finish();
  }

 private:
  static MPI_Group group_of(const std::set<int>& ranks) {
    const std::vector<int> list(ranks.begin(), ranks.end());
    MPI_Group world, group;
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_incl(world, static_cast<int>(list.size()), list.data(), &group);
    MPI_Group_free(&world);
    return group;
  }

  Ends ends_;
  MPI_Win win_;
  MPI_Group writers_, written_;
};

std::int64_t whole_lines(std::int64_t bytes) { return (bytes + kLine - 1) / kLine * kLine; }

}  // namespace

Stage::Stage(std::unique_ptr<Application> application, bool shown)
    : application_(std::move(application)) {
  std::int64_t bytes = whole_lines(application_->bytes());
  for (auto* boxes : {&outboxes_, &inboxes_}) {
    for (const Route& route : application_->routes()) {
      boxes->push_back(bytes);
      // Lists are empty as yet, and what leaves is as long as what comes.
      bytes += whole_lines(route.in.bytes());
    }
  }
  if (shown) {
    MPI_Win_allocate(bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory_, &win_);
  } else {
    own_ = std::make_unique<micro::Memory>(bytes);
    memory_ = own_->data();
  }
}

Stage::~Stage() {
  if (win_ != MPI_WIN_NULL) MPI_Win_free(&win_);
}

const std::vector<std::string>& ways() {
  static const std::vector<std::string> kWays = [] {
    std::vector<std::string> ways;
    for (const char* semantics : {"p2p", "persistent", "neighbourhood", "partitioned", "put"}) {
      for (const char* method : {"hand", "types"}) {
        ways.push_back(std::string(method) + ":" + semantics);
      }
    }
    return ways;
  }();
  return kWays;
}

bool needs_window(const std::string& way) { return way.substr(way.find(':') + 1) == "put"; }

std::unique_ptr<Exchange> exchange_by(const std::string& way, Stage& stage) {
  const std::size_t colon = way.find(':');
  const std::string method = way.substr(0, colon), semantics = way.substr(colon + 1);
  const bool by_hand = method == "hand";
  if (by_hand || method == "types") {
    if (semantics == "p2p") return std::make_unique<PointToPoint>(stage, by_hand);
    if (semantics == "persistent") return std::make_unique<Persistent>(stage, by_hand);
    if (semantics == "neighbourhood") return std::make_unique<Neighbourhood>(stage, by_hand);
    if (semantics == "put") return std::make_unique<Put>(stage, by_hand);
#if MPI_VERSION >= 4
    if (semantics == "partitioned") return std::make_unique<Partitioned>(stage, by_hand);
#else
    if (semantics == "partitioned") throw compare::Lacking("no partitioned communication");
#endif
  }
  throw std::runtime_error("no way " + way);
}

}  // namespace apps
