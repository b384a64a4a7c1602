#include "perf/modex/simulation.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "netmod/abi/address.h"
#include "netmod/abi/mad.h"
#include "netmod/modex/modex.h"

namespace mad {
namespace {

constexpr std::size_t kHostNameBytes = 8;

using Values = std::unordered_map<std::string, std::string>;

/// Of a node's first process; the others' records are `neighbours`.
class SimulatedLauncher final : public Launcher {
 public:
  SimulatedLauncher(Values* values, std::size_t value_length)
      : values_(*values), value_length_(value_length) {}

  std::size_t value_length() const override { return value_length_; }
  Status put(const std::string& key, const std::string& value) override {
    values_[key] = value;
    return {};
  }
  Result<std::string> get(int /*rank*/, const std::string& key) override {
    const auto found = values_.find(key);
    if (found != values_.end()) return found->second;
    return Status(StatusCode::kInternal, "nobody put '" + key + "'");
  }
  Status fence() override { return {}; }  // whoever calls runs all of a step before the next
  Result<std::vector<std::byte>> gather(const std::byte* own, std::size_t size) override {
    std::vector<std::byte> all(own, own + size);
    if (size == ModexRecord::kBytes) all.insert(all.end(), neighbours.begin(), neighbours.end());
    return all;
  }

  std::vector<std::byte> neighbours;

 private:
  Values& values_;
  std::size_t value_length_;
};

/// Cards like those of two engines of this process, which differ where processes do.
class Cards {
 public:
  static Result<Cards> open() {
    Cards cards;
    for (EngineAddress& each : cards.of_two_) {
      mad_config config;
      mad_config_init(&config);
      config.common_secret = 0x6d61642d6d6f6465;
      mad_engine* engine = nullptr;
      std::array<char, MAD_ADDRESS_MAX> bytes{};
      std::size_t size = bytes.size();
      if (mad_engine_open(&config, &engine) < 0 ||
          mad_engine_address(engine, bytes.data(), &size) < 0) {
        mad_engine_close(engine);
        return Status(StatusCode::kNotFound, mad_last_error());
      }
      cards.fabrics_ = mad_engine_fabric(engine);
      mad_engine_close(engine);
      auto decoded = EngineAddress::decode(bytes.data(), size);
      if (!decoded.ok()) return decoded.status();
      each = std::move(*decoded);
    }
    return cards;
  }

  const std::string& fabrics() const { return fabrics_; }

  /// A process id stands at the same place of an address in shared memory, see shm_protocol.md.
  ModexBytes card(std::uint64_t node, std::uint32_t process, std::mt19937_64* random) const {
    constexpr std::size_t kProcessId = 4;
    EngineAddress made = of_two_[0];
    for (std::size_t i = 0; i < made.node.size(); ++i) {
      made.node[i] = std::byte(node * 0x9e3779b97f4a7c15u >> 8 * i & 0xff);
    }
    // One secret for all fabrics, hence one stream of random bytes for the bytes that differ.
    const std::uint64_t secret = (*random)();
    for (std::size_t f = 0; f < made.fabrics.size(); ++f) {
      auto& address = made.fabrics[f].address;
      const auto& other = of_two_[1].fabrics[f].address;
      const std::size_t tail = address.size() - std::min<std::size_t>(address.size(), 8);
      for (std::size_t i = 0; i < tail; ++i) {
        if (address[i] != other[i]) address[i] = std::byte((*random)() & 0xff);
      }
      std::memcpy(address.data() + tail, &secret, address.size() - tail);
      if (made.fabrics[f].fabric == "shm") {
        const std::uint32_t id = static_cast<std::uint32_t>(node % 30000) + 2000 + process;
        std::memcpy(address.data() + kProcessId, &id, sizeof(id));
      }
    }
    return made.encode();
  }

 private:
  std::array<EngineAddress, 2> of_two_;
  std::string fabrics_;
};

struct Names {
  std::uint32_t card = 0, fabrics = 0, host = 0;
};

Names add_names(Modex* modex) {
  return {*modex->add_name("mad.card"), *modex->add_name("mad.fabrics"),
          *modex->add_name("mad.host")};
}

ModexBytes bytes_of(const std::string& text) {
  const auto* const begin = reinterpret_cast<const std::byte*>(text.data());
  return {begin, begin + text.size()};
}

}  // namespace

Result<SimulatedCosts> simulate(const SimulatedJob& job) {
  if (job.ranks < 1 || job.per_node < 1) {
    return Status(StatusCode::kInvalidArgument, "a job has ranks, and a node has some of them");
  }
  const auto cards = Cards::open();
  if (!cards.ok()) return cards.status();
  std::vector<int> nodes;
  nodes.reserve(static_cast<std::size_t>(job.ranks));
  for (int rank = 0; rank < job.ranks; ++rank) nodes.push_back(rank / job.per_node);
  const auto count = static_cast<std::size_t>(nodes.back()) + 1;
  Values values;
  std::mt19937_64 random(1);
  std::vector<std::unique_ptr<SimulatedLauncher>> launchers;
  std::vector<Modex> roots;  // the first process of each node
  SimulatedCosts costs;
  costs.nodes = count;
  Names names;
  for (std::size_t node = 0; node < count; ++node) {
    const int first = static_cast<int>(node) * job.per_node;
    const int last = std::min(first + job.per_node, job.ranks);
    launchers.push_back(std::make_unique<SimulatedLauncher>(&values, job.value_length));
    auto modex = Modex::open({first, job.ranks, nodes.data(), 0}, launchers.back().get());
    if (!modex.ok()) return modex.status();
    names = add_names(&*modex);
    std::string host = "n" + std::to_string(node);
    host.resize(std::max(host.size(), kHostNameBytes), '-');
    for (int rank = first; rank < last; ++rank) {
      ModexRecord record;
      record.node[names.host] = bytes_of(host);
      record.process[names.fabrics] = bytes_of(cards->fabrics() + '\0');
      record.process[names.card] =
          cards->card(node, static_cast<std::uint32_t>(rank - first), &random);
      if (rank == first) {
        for (const auto& [name, data] : record.node) (void)modex->send_node(name, data);
        for (const auto& [name, data] : record.process) (void)modex->send_process(name, data);
        continue;
      }
      auto encoded = record.encode();
      if (!encoded.ok()) return encoded.status();
      encoded->resize(ModexRecord::kBytes);
      auto& neighbours = launchers.back()->neighbours;
      neighbours.insert(neighbours.end(), encoded->begin(), encoded->end());
    }
    const Status status = modex->exchange();
    if (!status.ok()) return status;
    launchers.back()->neighbours = {};
    const NodeData& data = **modex->node_data(node);
    costs.process_bytes += static_cast<double>(data.process_bytes()) / job.ranks;
    costs.node_bytes += static_cast<double>(data.bytes() - data.process_bytes()) / count;
    costs.node_characters += static_cast<double>(modex->costs().put_characters) / count;
    costs.node_puts += static_cast<double>(modex->costs().puts) / count;
    roots.push_back(std::move(*modex));
  }
  for (Modex& root : roots) {
    const Status status = root.tell(names.fabrics);
    if (!status.ok()) return status;
  }
  for (Modex& root : roots) {
    const auto all = root.hear(names.fabrics, [](const ModexBytes& one, const ModexBytes& other) {
      return !one.empty() && one == other;
    });
    if (!all.ok()) return all.status();
    costs.agreement_gets = std::max(costs.agreement_gets, root.costs().gets);
  }
  costs.fences = count > 1 ? 2 : 0;
  const std::size_t before = roots.back().costs().gets;
  const auto card = roots.back().receive_process(0, names.card);
  if (!card.ok()) return card.status();
  costs.contact_gets = roots.back().costs().gets - before;
  return costs;
}

}  // namespace mad
