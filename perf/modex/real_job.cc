#include "perf/modex/real_job.h"

#include <cstring>

#include "netmod/abi/address.h"
#include "netmod/modex/modex.h"
#include "perf/modex/names.h"

namespace mad {
namespace {

/// Of a process that joins when all has been told.
class ReadingLauncher final : public Launcher {
 public:
  explicit ReadingLauncher(const std::map<std::string, std::string>& values) : values_(values) {}

  std::size_t value_length() const override { return kHydrasValueLength; }
  Status put(const std::string& /*key*/, const std::string& /*value*/) override { return {}; }
  Result<std::string> get(int /*rank*/, const std::string& key) override {
    const auto found = values_.find(key);
    if (found != values_.end()) return found->second;
    return Status(StatusCode::kInternal, "nobody put '" + key + "'");
  }
  Status fence() override { return {}; }
  Result<std::vector<std::byte>> gather(const std::byte* own, std::size_t size) override {
    return std::vector<std::byte>(own, own + size);
  }

 private:
  const std::map<std::string, std::string>& values_;
};

Result<std::uint32_t> process_id(const ModexBytes& card) {
  const auto decoded = EngineAddress::decode(card.data(), card.size());
  if (!decoded.ok()) return decoded.status();
  std::uint32_t id = 0;
  for (const FabricAddress& each : decoded->fabrics) {
    if (each.fabric != "shm" || each.address.size() < kProcessIdPlace + sizeof(id)) continue;
    std::memcpy(&id, each.address.data() + kProcessIdPlace, sizeof(id));
  }
  return id;
}

}  // namespace

Result<RealJob> read_real_job(int ranks, int per_node,
                              const std::map<std::string, std::string>& values) {
  if (ranks < 1 || per_node < 1 || ranks <= per_node) {
    return Status(StatusCode::kInvalidArgument, "only jobs on several nodes tell the launcher");
  }
  std::vector<int> nodes;
  nodes.reserve(static_cast<std::size_t>(ranks) + 1);
  for (int rank = 0; rank < ranks; ++rank) nodes.push_back(rank / per_node);
  const auto count = static_cast<std::size_t>(nodes.back()) + 1;
  nodes.push_back(static_cast<int>(count));  // the reader's own
  ReadingLauncher launcher(values);
  auto modex = Modex::open({ranks, ranks + 1, nodes.data(), 0}, &launcher);
  if (!modex.ok()) return modex.status();
  const StartUpNames names = StartUpNames::of(&*modex);
  Status status = modex->exchange();
  if (!status.ok()) return status;
  RealJob out;
  for (std::size_t node = 0; node < count; ++node) {
    const ModexCosts before = modex->costs();
    const auto data = modex->node_data(node);
    if (!data.ok()) return data.status();
    out.nodes.push_back({(*data)->bytes(), (*data)->process_bytes(),
                         modex->costs().gets - before.gets,
                         modex->costs().got_characters - before.got_characters});
  }
  for (int rank = 0; rank < ranks; ++rank) {
    const auto card = modex->receive_process(rank, names.card);
    if (!card.ok()) return card.status();
    const auto id = process_id(*card);
    if (!id.ok()) return id.status();
    out.process_ids.push_back(*id);
  }
  const auto host = modex->receive_node(0, names.host);
  if (!host.ok()) return host.status();
  out.host.assign(reinterpret_cast<const char*>(host->data()), host->size());
  return out;
}

}  // namespace mad
