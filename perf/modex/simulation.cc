#include "perf/modex/simulation.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <optional>
#include <random>
#include <unordered_map>
#include <utility>

#include "netmod/abi/address.h"
#include "netmod/abi/mad.h"
#include "netmod/modex/modex.h"
#include "perf/modex/names.h"

namespace mad {
namespace {

constexpr std::size_t kHostNameBytes = 8;

using Values = std::unordered_map<std::string, std::string>;

/// Of a node's first process; the others' records are `neighbours`.
class SimulatedLauncher final : public Launcher {
 public:
  explicit SimulatedLauncher(Values* values) : values_(*values) {}

  std::size_t value_length() const override { return kHydrasValueLength; }
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
};

Result<EngineAddress> card_of(mad_engine* engine) {
  std::array<char, MAD_ADDRESS_MAX> bytes{};
  std::size_t size = bytes.size();
  if (mad_engine_address(engine, bytes.data(), &size) < 0) {
    return Status(StatusCode::kInternal, mad_last_error());
  }
  return EngineAddress::decode(bytes.data(), size);
}

/// Cards like those of engines of this process, which differ where processes do.
class Cards {
 public:
  static Result<Cards> open() {
    Cards cards;
    for (EngineAddress& each : cards.samples_) {
      mad_config config;
      mad_config_init(&config);
      config.common_secret = 0x6d61642d6d6f6465;
      mad_engine* engine = nullptr;
      if (mad_engine_open(&config, &engine) < 0) {
        return Status(StatusCode::kNotFound, mad_last_error());
      }
      cards.fabrics_ = mad_engine_fabric(engine);
      auto card = card_of(engine);
      mad_engine_close(engine);
      if (!card.ok()) return card.status();
      each = std::move(*card);
    }
    return cards;
  }

  const std::string& fabrics() const { return fabrics_; }

  ModexBytes card(std::uint64_t node, std::uint32_t process_id, std::mt19937_64* random) const {
    EngineAddress made = samples_[0];
    for (std::size_t i = 0; i < made.node.size(); ++i) {
      made.node[i] = std::byte(node * 0x9e3779b97f4a7c15u >> 8 * i & 0xff);
    }
    // One secret for all fabrics, the end of each address.
    const std::uint64_t secret = (*random)();
    for (std::size_t f = 0; f < made.fabrics.size(); ++f) {
      auto& address = made.fabrics[f].address;
      const std::size_t tail = address.size() - std::min(address.size(), sizeof(secret));
      for (std::size_t i = 0; i < tail; ++i) {
        if (differs(f, i)) address[i] = std::byte((*random)() & 0xff);
      }
      std::memcpy(address.data() + tail, &secret, address.size() - tail);
      if (made.fabrics[f].fabric == "shm") {
        std::memcpy(address.data() + kProcessIdPlace, &process_id, sizeof(process_id));
      }
    }
    return made.encode();
  }

 private:
  bool differs(std::size_t fabric, std::size_t place) const {
    const auto byte = [&](const EngineAddress& card) {
      return card.fabrics[fabric].address[place];
    };
    return std::any_of(samples_.begin(), samples_.end(),
                       [&](const EngineAddress& each) { return byte(each) != byte(samples_[0]); });
  }

  // Two engines may have a byte in common by chance, as of their ports; not so many.
  std::array<EngineAddress, 5> samples_;
  std::string fabrics_;
};

ModexBytes bytes_of(const std::string& text) {
  const auto* const begin = reinterpret_cast<const std::byte*>(text.data());
  return {begin, begin + text.size()};
}

/// The first process of a node.
struct Root {
  std::unique_ptr<SimulatedLauncher> launcher;
  Modex modex;
};

class Simulation {
 public:
  Simulation(const SimulatedJob& job, Cards cards) : job_(job), cards_(std::move(cards)) {
    nodes_.reserve(static_cast<std::size_t>(job.ranks));
    for (int rank = 0; rank < job.ranks; ++rank) nodes_.push_back(rank / job.per_node);
  }

  Result<SimulatedCosts> run() {
    const auto count = static_cast<std::size_t>(nodes_.back()) + 1;
    for (std::size_t node = 0; node < count; ++node) {
      Status status = tell_node(node);
      if (!status.ok()) return status;
    }
    Status status = count > 1 ? agree() : Status();
    if (!status.ok()) return status;
    return std::move(costs_);
  }

 private:
  Status tell_node(std::size_t node) {
    const int first = static_cast<int>(node) * job_.per_node;
    const int last = std::min(first + job_.per_node, job_.ranks);
    auto launcher = std::make_unique<SimulatedLauncher>(&values_);
    auto modex = Modex::open({first, job_.ranks, nodes_.data(), 0}, launcher.get());
    if (!modex.ok()) return modex.status();
    names_ = StartUpNames::of(&*modex);
    for (int rank = first; rank < last; ++rank) {
      const ModexRecord record = record_of(node, rank);
      if (rank == first) {
        for (const auto& [name, data] : record.node) (void)modex->send_node(name, data);
        for (const auto& [name, data] : record.process) (void)modex->send_process(name, data);
        continue;
      }
      auto encoded = record.encode();
      if (!encoded.ok()) return encoded.status();
      encoded->resize(ModexRecord::kBytes);
      launcher->neighbours.insert(launcher->neighbours.end(), encoded->begin(), encoded->end());
    }
    Status status = modex->exchange();
    if (!status.ok()) return status;
    launcher->neighbours = {};
    const NodeData& data = **modex->node_data(node);
    costs_.nodes.push_back(
        {data.bytes(), data.process_bytes(), modex->costs().puts, modex->costs().put_characters});
    // Those that speak for no group are all alike: the second node's stands for them.
    if (modex->tells() || node == 1) roots_.push_back({std::move(launcher), std::move(*modex)});
    return {};
  }

  ModexRecord record_of(std::size_t node, int rank) {
    const auto place = static_cast<std::uint32_t>(rank % job_.per_node);
    const std::uint32_t process_id = job_.process_ids.empty()
                                         ? static_cast<std::uint32_t>(node % 30000) + 2000 + place
                                         : job_.process_ids[static_cast<std::size_t>(rank)];
    std::string host = job_.host;
    if (host.empty()) {
      host = "n" + std::to_string(node);
      host.resize(std::max(host.size(), kHostNameBytes), '-');
    }
    ModexRecord record;
    record.node[names_.host] = bytes_of(host);
    record.process[names_.fabrics] = bytes_of(cards_.fabrics() + '\0');
    record.process[names_.card] = cards_.card(node, process_id, &random_);
    return record;
  }

  Status agree() {
    std::size_t groups = 0;
    for (Root& root : roots_) {
      const ModexCosts before = root.modex.costs();
      Status status = root.modex.tell(names_.fabrics);
      if (!status.ok()) return status;
      costs_.agreement_puts += root.modex.costs().puts - before.puts;
      costs_.agreement_characters += root.modex.costs().put_characters - before.put_characters;
      if (root.modex.tells()) ++groups;
    }
    for (Root& root : roots_) {
      const auto all =
          root.modex.hear(names_.fabrics, [](const ModexBytes& one, const ModexBytes& other) {
            return !one.empty() && one == other;
          });
      if (!all.ok()) return all.status();
      const std::size_t gets = root.modex.costs().gets;
      costs_.most_agreement_gets = std::max(costs_.most_agreement_gets, gets);
      costs_.agreement_gets += root.modex.tells() ? gets : gets * (costs_.nodes.size() - groups);
    }
    costs_.fences = 2;
    Modex& second = std::find_if(roots_.begin(), roots_.end(), [](const Root& root) {
                      return !root.modex.tells();
                    })->modex;
    const std::size_t before = second.costs().gets;
    const auto card = second.receive_process(0, names_.card);
    if (!card.ok()) return card.status();
    costs_.contact_gets = second.costs().gets - before;
    return {};
  }

  const SimulatedJob& job_;
  Cards cards_;
  std::vector<int> nodes_;  // of the ranks
  Values values_;
  std::mt19937_64 random_{1};
  StartUpNames names_;
  std::vector<Root> roots_;
  SimulatedCosts costs_;
};

}  // namespace

Result<SimulatedCosts> simulate(const SimulatedJob& job) {
  if (job.ranks < 1 || job.per_node < 1) {
    return Status(StatusCode::kInvalidArgument, "a job has ranks, and a node has some of them");
  }
  if (!job.process_ids.empty() && job.process_ids.size() != static_cast<std::size_t>(job.ranks)) {
    return Status(StatusCode::kInvalidArgument, "every rank has a process id, or none has");
  }
  auto cards = Cards::open();
  if (!cards.ok()) return cards.status();
  return Simulation(job, std::move(*cards)).run();
}

}  // namespace mad
