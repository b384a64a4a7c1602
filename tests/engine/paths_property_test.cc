// Every path of the sender against every path of the receiver, on random layouts: what arrives is
// what the literal type map says, and no other byte is touched.
#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "netmod/abi/types.h"
#include "tests/engine/node.h"
#include "tests/support/random_type.h"
#include "tests/support/type_map.h"

namespace mad::test {
namespace {

struct Setting {
  const char* name;
  const char* fabric;
  std::uint64_t eager_limit;
  std::uint64_t flush_threshold;
  int rounds;
  std::int64_t most_elements = 40;  // that are sent
};

void PrintTo(const Setting& setting, std::ostream* out) { *out << setting.name; }

TypeHandle committed(const TypeDescPtr& desc) {
  auto* const type = new mad_type(desc);
  EXPECT_EQ(mad_type_commit(type), MAD_SUCCESS) << mad_last_error();
  return TypeHandle(type);
}

/// One side's layout: its type, its map and how it was made.
struct Side {
  std::string text;
  std::uint64_t count = 0;
  TypeMap map;
  TypeHandle type;
};

Side side_of(const RandomType& random, std::uint64_t count) {
  return {random.text, count, expand(*random.type, count), committed(random.type)};
}

class Paths : public ::testing::TestWithParam<Setting> {
 protected:
  Paths() : a(GetParam().fabric, tune), b(GetParam().fabric, tune), to_b(a.peer(b)) {}

  static void tune(mad_config& config) {
    config.eager_limit = GetParam().eager_limit;
    config.flush_threshold = GetParam().flush_threshold;
  }

  void exchange(const Side& from, const Side& to, const std::vector<std::byte>& packed,
                Arena& source, mad_path send_path, mad_path receive_path, bool expected);

  void TearDown() override { close_together({&a, &b}); }

  Node a, b;
  mad_peer* to_b;
};

void fill_arena(Arena& arena, unsigned salt) {
  const Bytes bytes = pattern(arena.bytes().size(), salt);
  if (!bytes.empty()) std::memcpy(arena.bytes().data(), bytes.data(), bytes.size());
}

void Paths::exchange(const Side& from, const Side& to, const std::vector<std::byte>& packed,
                     Arena& source, mad_path send_path, mad_path receive_path, bool expected) {
  Arena target(to.map, std::byte{0x5a});
  Arena oracle(to.map, std::byte{0x5a});
  unpack(to.map, packed, oracle);
  std::vector<std::byte> collected(packed.size());
  Operation sent, received;
  const auto receive = [&](const Arrival& arrival) {
    EXPECT_EQ(arrival.payload_bytes, packed.size());
    if (receive_path == MAD_PATH_OFF) {
      b.receive(arrival.incoming, collected.data(), collected.size(), nullptr, receive_path,
                &received);
    } else {
      b.receive(arrival.incoming, target.base(), to.count, to.type.get(), receive_path, &received);
    }
  };
  b.on_arrival = nullptr;
  if (expected) b.on_arrival = receive;

  if (send_path == MAD_PATH_OFF) {
    a.send(to_b, "h", packed.data(), packed.size(), nullptr, send_path, &sent);
  } else {
    a.send(to_b, "h", source.base(), from.count, from.type.get(), send_path, &sent);
  }
  if (!expected) {
    ASSERT_TRUE(progress_until({&a, &b}, [&] { return !b.arrivals.empty(); }));
    for (int i = 0; i < 5; ++i) a.progress(), b.progress();
    receive(b.take());
  }
  ASSERT_TRUE(progress_until({&a, &b}, [&] { return sent.done && received.done; }));
  EXPECT_EQ(sent.status, MAD_SUCCESS);
  EXPECT_EQ(received.status, MAD_SUCCESS);
  EXPECT_EQ(received.bytes, packed.size());
  EXPECT_EQ(sent.callbacks + received.callbacks, 2);
  if (receive_path == MAD_PATH_OFF) {
    EXPECT_EQ(collected, packed);
  } else {
    EXPECT_EQ(target.bytes(), oracle.bytes());
  }
}

TEST_P(Paths, ArriveAsTheTypeMapSays) {
  RandomTypes random(seed_from_environment(20240811));
  RandomTypeOptions anything;
  RandomTypeOptions disjoint;
  disjoint.overlaps = false;
  int done = 0;
  for (int attempt = 0; done < GetParam().rounds && attempt < 1000; ++attempt) {
    const Side from =
        side_of(random.next(anything),
                static_cast<std::uint64_t>(random.between(1, GetParam().most_elements)));
    const RandomType target = random.next(disjoint);
    const std::uint64_t bytes = byte_places(from.map).size();
    if (bytes == 0 || target.type->size() == 0) continue;
    // As many elements as hold the payload; the last one may stay half empty.
    const Side to = side_of(target, (bytes + target.type->size() - 1) / target.type->size());
    if (!receivable(to.map)) continue;
    Arena source(from.map);
    fill_arena(source, static_cast<unsigned>(attempt));
    const std::vector<std::byte> packed = pack(from.map, source);
    for (int path = 0; path < MAD_PATH_COUNT * MAD_PATH_COUNT; ++path) {
      const auto send_path = static_cast<mad_path>(path % MAD_PATH_COUNT);
      const auto receive_path = static_cast<mad_path>(path / MAD_PATH_COUNT);
      SCOPED_TRACE(std::string(mad_path_name(send_path)) + " to " + mad_path_name(receive_path) +
                   ", " + std::to_string(from.count) + " of " + from.text + " to " +
                   std::to_string(to.count) + " of " + to.text);
      exchange(from, to, packed, source, send_path, receive_path, (path + attempt) % 3 != 0);
      if (HasFatalFailure() || HasNonfatalFailure()) return;
    }
    ++done;
  }
  EXPECT_EQ(done, GetParam().rounds);
}

INSTANTIATE_TEST_SUITE_P(
    Engine, Paths,
    ::testing::Values(Setting{"loopback", "loopback", 0, 0, 40},
                      Setting{"loopback_rendezvous", "loopback", 1, 0, 25},
                      Setting{"loopback_small_packets", "loopback", 300, 100, 25},
                      Setting{"tcp", "tcp", 0, 0, 15}, Setting{"tcp_rendezvous", "tcp", 1, 0, 10},
                      Setting{"tcp_small_packets", "tcp", 300, 100, 10},
                      Setting{"ofi_tcp", "ofi:tcp", 0, 0, 10},
                      Setting{"ofi_tcp_rendezvous", "ofi:tcp", 1, 0, 10},
                      Setting{"ofi_rxm", "ofi:tcp+ofi_rxm", 0, 0, 4},
                      Setting{"ofi_rxm_rendezvous", "ofi:tcp+ofi_rxm", 1, 0, 4},
                      Setting{"ucx_tcp", "ucx:tcp", 0, 0, 10},
                      Setting{"ucx_tcp_rendezvous", "ucx:tcp", 1, 0, 10},
                      Setting{"ucx_posix", "ucx:posix", 0, 0, 10},
                      Setting{"ucx_posix_rendezvous", "ucx:posix", 1, 0, 10},
                      Setting{"ucx_posix_small_packets", "ucx:posix", 300, 100, 10},
                      Setting{"shm", "shm", 0, 0, 10}, Setting{"shm_rendezvous", "shm", 1, 0, 10},
                      Setting{"ucx_posix_cma", "ucx:posix,cma", 0, 0, 10},
                      Setting{"ucx_posix_cma_long", "ucx:posix,cma", 1, 0, 4, 1000}),
    [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace mad::test
