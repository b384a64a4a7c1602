// Two processes on machines that represent data otherwise, one program built for each: everything
// that one can send is sent both ways, and each knows what it must get.
//
//   pair first|second DIRECTORY FABRIC CHECKSUM SEED
//
// They find each other by cards in DIRECTORY.  Values are made of numbers by each machine's own
// compiler; nothing of the conversion is used to know what is right.  Exits with 0 if all was, and
// prints a line for each case.
#include <unistd.h>

#include <cfloat>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <iterator>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "datatype_path/convert/conversion_plan.h"
#include "datatype_path/convert/packing_converter.h"
#include "datatype_path/convert/unpacking_converter.h"
#include "netmod/abi/mad.h"
#include "netmod/abi/types.h"
#include "tests/support/random_type.h"
#include "tests/support/type_map.h"
#include "tests/support/typed_map.h"

namespace mad::test {
namespace {

#if LDBL_MANT_DIG == 113
using Quad = long double;
#else
__extension__ using Quad = __float128;
#endif
__extension__ using Wide = __int128;

constexpr std::chrono::seconds kLimit{240};

[[noreturn]] void fail(const std::string& what) {
  std::fprintf(stderr, "pair: %s\n", what.c_str());
  std::exit(1);
}
void need(bool right, const std::string& what) {
  if (!right) fail(what);
}
void need_ok(int status, const std::string& what) {
  need(status == MAD_SUCCESS, what + ": " + std::to_string(status) + ", " + mad_last_error());
}

/// A number that is any other each time (splitmix64).
std::uint64_t number(std::uint64_t seed, std::uint64_t index) {
  std::uint64_t z = seed * 0x9e3779b97f4a7c15u + (index + 1) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

template <typename T>
void store(std::byte* at, T value, std::size_t significant = sizeof(T)) {
  std::memcpy(at, &value, significant);
}

/// A real number that each format of that size has exactly.
void store_real(std::byte* at, BasicType kind, std::size_t bytes, std::uint64_t any) {
  const bool long_double = kind == BasicType::kLongDouble ||
                           kind == BasicType::kLongDoubleComplex ||
                           kind == BasicType::kCxxLongDoubleComplex;
  const auto whole = static_cast<std::int64_t>(any);
  if (long_double) {
    std::memset(at, 0, sizeof(long double));
    store(at, static_cast<long double>(whole) / 1048576, LDBL_MANT_DIG == 64 ? 10 : sizeof(Quad));
  } else if (bytes == 4) {
    store(at, static_cast<float>(whole >> 40) / 64);
  } else if (bytes == 8) {
    store(at, static_cast<double>(whole >> 11) / 1024);
  } else {
    store(at, static_cast<Quad>(whole) / 4096 + static_cast<Quad>(any >> 5));
  }
}

void store_element(std::byte* at, BasicType kind, std::uint64_t any) {
  const std::size_t bytes = size_of(kind);
  const BasicFamily family = info(kind).family;
  if (family == BasicFamily::kComplex) {
    store_real(at, kind, bytes / 2, any);
    store_real(at + bytes / 2, kind, bytes / 2, number(any, 1));
  } else if (family == BasicFamily::kReal) {
    store_real(at, kind, bytes, any);
  } else {
    if (family == BasicFamily::kLogical) any &= 1;
    switch (bytes) {
      case 1:
        return store(at, static_cast<std::uint8_t>(any));
      case 2:
        return store(at, static_cast<std::uint16_t>(any));
      case 4:
        return store(at, static_cast<std::uint32_t>(any));
      case 8:
        return store(at, any);
      default:
        return store(at, static_cast<Wide>(static_cast<std::int64_t>(any)) * 0x123456789);
    }
  }
}

class Type {
 public:
  explicit Type(const TypeDescPtr& description) : type_(new mad_type(description)) {
    need_ok(mad_type_commit(type_), "commit");
  }
  ~Type() { mad_type_release(type_); }
  Type(const Type&) = delete;
  Type& operator=(const Type&) = delete;
  const mad_type* get() const { return type_; }

 private:
  mad_type* type_;
};

/// Described data, empty or with the values of a seed.
struct Data {
  Data(TypeDescPtr its_type, std::uint64_t its_count)
      : type(std::move(its_type)),
        count(its_count),
        map(expand_typed(*type, count)),
        memory(expand(*type, count), std::byte{0xa5}) {}
  Data& fill(std::uint64_t seed, std::size_t elements = SIZE_MAX) {
    std::byte element[kMaxBasicBytes];
    for (std::size_t i = 0; i < map.size() && i < elements; ++i) {
      store_element(element, map[i].type, number(seed, i));
      for (std::size_t b = 0; b < size_of(map[i].type); ++b) {
        memory[map[i].offset + static_cast<std::int64_t>(b)] = element[b];
      }
    }
    return *this;
  }

  TypeDescPtr type;
  std::uint64_t count;
  TypedMap map;
  Arena memory;
};

struct Operation {
  Operation() { slot.context = this; }
  void finish(int result) {
    done = true;
    status = result;
  }
  mad_op slot{};
  bool done = false;
  int status = MAD_IN_PROGRESS;
  mad_arrival arrival{};
};

class Side {
 public:
  Side(bool is_first, const std::string& directory, const std::string& fabric, bool checksum);
  ~Side() { mad_engine_close(engine_); }
  Side(const Side&) = delete;
  Side& operator=(const Side&) = delete;

  /// Both send `own` and get what is then in `*got`; returns what came.
  mad_arrival exchange(Data& own, Data* got, mad_path path);
  void exchange_packed(Data& own, Data* got);
  /// The first sends `pieces` as one Madeleine message, then the second its own.
  void exchange_madeleine(std::vector<Data>& own, std::vector<Data>* got);
  bool first() const { return first_; }

 private:
  void until(const std::function<bool()>& reached);
  void pack(std::vector<Data>& pieces);
  void unpack(std::vector<Data>* pieces);
  void bytes(const std::vector<std::byte>& own, std::vector<std::byte>* got);

  bool first_;
  mad_engine* engine_ = nullptr;
  mad_peer* peer_ = nullptr;
  std::int32_t tag_ = 0;
};

std::vector<char> read_card(const std::string& path) {
  const auto end = std::chrono::steady_clock::now() + kLimit;
  for (;;) {
    std::ifstream file(path, std::ios::binary);
    if (file) return {std::istreambuf_iterator<char>(file), {}};
    need(std::chrono::steady_clock::now() < end, "no card at " + path);
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
}

Side::Side(bool is_first, const std::string& directory, const std::string& fabric, bool checksum)
    : first_(is_first) {
  mad_config config;
  mad_config_init(&config);
  config.fabric = fabric.c_str();
  config.interface = "lo";
  config.checksum = checksum ? 1 : 0;
  config.callbacks.on_sent = [](void*, mad_op* op, int status) {
    static_cast<Operation*>(op->context)->finish(status);
  };
  config.callbacks.on_tagged = [](void*, mad_op* op, const mad_arrival* arrival, int status) {
    auto& operation = *static_cast<Operation*>(op->context);
    if (arrival != nullptr) operation.arrival = *arrival;
    operation.finish(status);
  };
  config.callbacks.on_peer_gone = [](void*, mad_peer*, int status, const char* why) {
    if (status != MAD_ERR_CLOSED) fail(std::string("the other one is gone: ") + why);
  };
  need_ok(mad_engine_open(&config, &engine_), "open");
  char card[MAD_ADDRESS_MAX];
  std::size_t size = sizeof(card);
  need_ok(mad_engine_address(engine_, card, &size), "address");
  const std::string own = directory + (first_ ? "/first" : "/second");
  std::ofstream(own + ".new", std::ios::binary).write(card, static_cast<std::streamsize>(size));
  need(std::rename((own + ".new").c_str(), own.c_str()) == 0, "cannot write " + own);
  const std::vector<char> others = read_card(directory + (first_ ? "/second" : "/first"));
  need_ok(mad_engine_peer(engine_, others.data(), others.size(), &peer_), "peer");
}

void Side::until(const std::function<bool()>& reached) {
  const auto end = std::chrono::steady_clock::now() + kLimit;
  while (!reached()) {
    int events = 0;
    need_ok(mad_engine_progress(engine_, &events), "progress");
    if (events == 0) (void)mad_engine_wait(engine_, 1000);
    need(std::chrono::steady_clock::now() < end, "nothing comes");
  }
}

mad_arrival Side::exchange(Data& own, Data* got, mad_path path) {
  const Type sent_type(own.type), got_type(got->type);
  const mad_envelope envelope{0, ++tag_, 1};
  Operation sent, received;
  mad_receive* receive = nullptr;
  const auto start = [&] {
    const int result =
        mad_tagged_receive(engine_, &envelope, got->memory.base(), got->count, got_type.get(), path,
                           &received.slot, &receive, &received.arrival);
    if (result != MAD_IN_PROGRESS) received.finish(result);
  };
  const bool receive_first = tag_ % 2 == (first_ ? 0 : 1);
  if (receive_first) start();
  const int result =
      mad_tagged_send(engine_, peer_, &envelope, tag_ % 3 == 0 ? MAD_SYNCHRONOUS : 0, nullptr,
                      own.memory.base(), own.count, sent_type.get(), path, &sent.slot);
  if (result != MAD_IN_PROGRESS) sent.finish(result);
  if (!receive_first) start();
  until([&] { return sent.done && received.done; });
  need_ok(sent.status, "send");
  need_ok(received.status, "receive");
  return received.arrival;
}

void Side::bytes(const std::vector<std::byte>& own, std::vector<std::byte>* got) {
  const TypeDescPtr byte = TypeDesc::basic(BasicType::kByte).value();
  Data mine(byte, own.size()), others(byte, got->size());
  mine.memory.bytes() = own;
  const mad_arrival arrival = exchange(mine, &others, MAD_PATH_AUTO);
  need(arrival.sent == got->size(), "packed bytes of another length");
  *got = others.memory.bytes();
}

void Side::exchange_packed(Data& own, Data* got) {
  const auto plan_of = [](const Data& data) {
    return ConversionPlan::make(TypedProgram::build(data.type).value(), Architecture::external32())
        .value();
  };
  PackingConverter packing(plan_of(own), own.memory.base(), own.count);
  UnpackingConverter unpacking(plan_of(*got), got->memory.base(), got->count);
  std::vector<std::byte> packed(packing.total()), others(unpacking.total());
  need(packing.pack(0, packed.data(), packed.size()).ok(), "cannot pack as external32");
  bytes(packed, &others);
  need(unpacking.unpack(0, others.data(), others.size()).ok(), "cannot unpack external32");
}

void Side::pack(std::vector<Data>& pieces) {
  mad_packing* message = nullptr;
  need_ok(mad_begin_packing(engine_, peer_, &message), "begin packing");
  std::vector<std::unique_ptr<Type>> types;
  for (Data& piece : pieces) {
    types.push_back(std::make_unique<Type>(piece.type));
    need_ok(mad_pack_layout(message, piece.memory.base(), piece.count, types.back()->get(),
                            MAD_SEND_CHEAPER, MAD_RECV_CHEAPER),
            "pack");
  }
  need_ok(mad_end_packing(message), "end packing");
}

void Side::unpack(std::vector<Data>* pieces) {
  mad_unpacking* message = nullptr;
  need_ok(mad_begin_unpacking(engine_, 240000, nullptr, &message), "begin unpacking");
  std::vector<std::unique_ptr<Type>> types;
  for (Data& piece : *pieces) {
    types.push_back(std::make_unique<Type>(piece.type));
    need_ok(mad_unpack_layout(message, piece.memory.base(), piece.count, types.back()->get(),
                              MAD_SEND_CHEAPER, MAD_RECV_CHEAPER),
            "unpack");
  }
  need_ok(mad_end_unpacking(message), "end unpacking");
}

void Side::exchange_madeleine(std::vector<Data>& own, std::vector<Data>* got) {
  if (first_) pack(own);
  unpack(got);
  if (!first_) pack(own);
}

/// Both sides' data of one case: what is sent, what must come, and where it goes.
struct Case {
  Case(const TypeDescPtr& type, std::uint64_t count, std::uint64_t seed, bool first)
      : own(type, count), expected(type, count), got(type, count) {
    own.fill(2 * seed + (first ? 0 : 1));
    expected.fill(2 * seed + (first ? 1 : 0));
  }
  void check(const std::string& what) {
    need(got.memory.bytes() == expected.memory.bytes(), "wrong values: " + what);
  }
  Data own, expected, got;
};

constexpr mad_path kPaths[] = {MAD_PATH_AUTO, MAD_PATH_GATHER, MAD_PATH_HYBRID, MAD_PATH_PIPELINE,
                               MAD_PATH_PACK};

void every_kind(Side& side, std::uint64_t seed) {
  for (std::size_t k = 0; k < kBasicTypes; ++k) {
    const auto kind = static_cast<BasicType>(k);
    const std::string name(info(kind).name);
    const TypeDescPtr type = TypeDesc::basic(kind).value();
    Case plain(type, 100, seed + k, side.first());
    const mad_arrival arrival = side.exchange(plain.own, &plain.got, MAD_PATH_AUTO);
    plain.check(name);
    need(arrival.sent == 100 * size_of(kind) && arrival.received == arrival.sent,
         "a wrong length of " + name);
    Case packed(type, 100, seed + k + 1, side.first());
    if (kind == BasicType::kInteger16 || size_of(kind) > Architecture::external32().size_of(kind)) {
      continue;  // any value of these would not fit
    }
    side.exchange_packed(packed.own, &packed.got);
    packed.check("external32 of " + name);
  }
  std::printf("every kind: %zu\n", kBasicTypes);
}

void truncated(Side& side, std::uint64_t seed) {
  const TypeDescPtr type = TypeDesc::basic(BasicType::kDouble).value();
  Case all(type, 50, seed, side.first());
  Data less(type, 20), expected(type, 20);
  expected.fill(2 * seed + (side.first() ? 1 : 0));
  const mad_arrival arrival = side.exchange(all.own, &less, MAD_PATH_AUTO);
  need(arrival.sent == 400 && arrival.received == 160, "truncated to a wrong length");
  need(less.memory.bytes() == expected.memory.bytes(), "wrong values of what was truncated");
  std::printf("truncated: 1\n");
}

void long_ones(Side& side, std::uint64_t seed) {
  const TypeDescPtr spaced =
      TypeDesc::resized(0, 24, TypeDesc::basic(BasicType::kDouble).value()).value();
  const TypeDescPtr dense = TypeDesc::basic(BasicType::kLongDouble).value();
  for (const mad_path path : kPaths) {
    for (const TypeDescPtr& type : {spaced, dense}) {
      Case large(type, 40000, seed + static_cast<std::uint64_t>(path), side.first());
      (void)side.exchange(large.own, &large.got, path);
      large.check("of a long message");
    }
  }
  std::printf("long: %zu\n", 2 * std::size(kPaths));
}

void random_types(Side& side, std::uint64_t seed) {
  constexpr int kTypes = 150;
  RandomTypes random(seed);
  RandomTypeOptions options;
  options.typed = true;
  options.overlaps = false;
  std::vector<Data> own, got;
  std::vector<Case> cases;
  for (int n = 0; n < kTypes; ++n) {
    const RandomType made = random.next(options);
    const auto count = static_cast<std::uint64_t>(random.between(1, 3));
    Case each(made.type, count, seed + static_cast<std::uint64_t>(n), side.first());
    (void)side.exchange(each.own, &each.got, kPaths[static_cast<std::size_t>(n) % 5]);
    each.check(made.text);
    own.push_back(each.own);
    got.emplace_back(made.type, count);
    cases.push_back(std::move(each));
  }
  side.exchange_madeleine(own, &got);
  for (std::size_t i = 0; i < cases.size(); ++i) {
    need(got[i].memory.bytes() == cases[i].expected.memory.bytes(), "wrong values by Madeleine");
  }
  std::printf("random types, tagged and by Madeleine: %d\n", kTypes);
}

}  // namespace
}  // namespace mad::test

int main(int argc, char** argv) {
  using mad::test::Side;
  if (argc != 6) {
    std::fprintf(stderr, "usage: pair first|second DIRECTORY FABRIC CHECKSUM SEED\n");
    return 2;
  }
  const std::uint64_t seed = std::strtoull(argv[5], nullptr, 10);
  Side side(std::string(argv[1]) == "first", argv[2], argv[3], std::string(argv[4]) == "1");
  mad::test::every_kind(side, seed);
  mad::test::truncated(side, seed + 1000);
  mad::test::random_types(side, seed + 2000);
  mad::test::long_ones(side, seed + 3000);
  std::printf("pair: all right\n");
  return 0;
}
