#include "netmod/modex/modex.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "netmod/modex/text.h"

namespace mad {
namespace {

using Bytes = ModexBytes;

// Of what a value of the launcher begins with: the number of values, and a dot.
constexpr std::size_t kHeadLength = 8;
constexpr char kTooMany = '!';  // in place of a group's values

/// FNV-1a, 32 bits.
std::uint32_t hash_of(const std::string& name) {
  std::uint32_t hash = 0x811c9dc5U;
  for (const char each : name) hash = (hash ^ static_cast<unsigned char>(each)) * 0x01000193U;
  return hash;
}

Status broken(const std::string& key) {
  return Status(StatusCode::kProtocol,
                "the launcher's value of '" + key + "' is not what was put there");
}

/// Takes the number and the dot off the front of `text`; 0: it does not begin so.
std::size_t take_number(std::string_view* text) {
  std::size_t number = 0;
  const char* const end = text->data() + text->size();
  const auto [next, error] = std::from_chars(text->data(), end, number);
  if (error != std::errc() || next == end || *next != '.') return 0;
  text->remove_prefix(static_cast<std::size_t>(next - text->data()) + 1);
  return number;
}

std::size_t square_root_above(std::size_t number) {
  std::size_t root = 1;
  while (root * root < number) ++root;
  return root;
}

}  // namespace

Result<Modex> Modex::open(const ModexJob& job, Launcher* launcher) {
  const auto wrong = [](const char* what) {
    return Status(StatusCode::kInvalidArgument, std::string("start-up data: ") + what);
  };
  if (job.rank < 0 || job.rank >= job.size) return wrong("no process has this rank");
  if (launcher->value_length() <= kHeadLength) return wrong("the launcher takes no values");
  Modex modex(job, launcher);
  for (int rank = 0, end = 0; rank < job.size; rank = end) {
    const int node = job.nodes[rank];
    if (node < 0) return wrong("a node's number is negative");
    // Neighbours in rank are neighbours on a node, mostly.
    for (end = rank + 1; end < job.size && job.nodes[end] == node;) ++end;
    const auto place = static_cast<std::size_t>(node);
    if (place >= modex.numbers_.size()) modex.numbers_.resize(place + 1, kNoNode);
    std::size_t& number = modex.numbers_[place];
    if (number == kNoNode) {
      number = modex.nodes_.size();
      modex.nodes_.push_back({rank, 0});
    }
    modex.nodes_[number].processes += static_cast<std::size_t>(end - rank);
  }
  std::size_t next = 0;
  if (std::all_of(modex.numbers_.begin(), modex.numbers_.end(),
                  [&](std::size_t number) { return number == next++; })) {
    modex.numbers_ = {};
  }
  return modex;
}

Result<std::uint32_t> Modex::add_name(const std::string& name) {
  const std::uint32_t hash = hash_of(name);
  const auto found = names_.emplace(hash, name).first;
  if (found->second == name) return hash;
  return Status(StatusCode::kInvalidArgument,
                "start-up data: the names '" + name + "' and '" + found->second +
                    "' have the same hash; one of them has to be another");
}

Status Modex::check_send(std::uint32_t name, const Bytes& data) const {
  if (exchanged_) return Status(StatusCode::kClosed, "start-up data: it is exchanged already");
  if (names_.count(name) == 0) {
    return Status(StatusCode::kInvalidArgument, "start-up data: the name is not registered");
  }
  if (data.size() <= ModexRecord::kBytes) return {};
  return Status(StatusCode::kInvalidArgument,
                "start-up data: '" + names_.at(name) + "' has " + std::to_string(data.size()) +
                    " bytes, and a process may send " + std::to_string(ModexRecord::kBytes));
}

Status Modex::send_process(std::uint32_t name, Bytes data) {
  Status status = check_send(name, data);
  if (status.ok()) own_.process[name] = std::move(data);
  return status;
}

Status Modex::send_node(std::uint32_t name, Bytes data) {
  Status status = check_send(name, data);
  if (status.ok()) own_.node[name] = std::move(data);
  return status;
}

std::string Modex::key(const std::string& what) const {
  return "mad-" + std::to_string(job_.epoch) + '-' + what;
}

Status Modex::put(const std::string& key, const std::string& value) {
  ++costs_.puts;
  costs_.put_characters += key.size() + value.size();
  return launcher_->put(key, value);
}

Result<std::string> Modex::get(int rank, const std::string& key) {
  ++costs_.gets;
  Result<std::string> value = launcher_->get(rank, key);
  if (value.ok()) costs_.got_characters += key.size() + value->size();
  return value;
}

Status Modex::fence() {
  ++costs_.fences;
  return launcher_->fence();
}

Status Modex::exchange() {
  if (exchanged_) return Status(StatusCode::kClosed, "start-up data: it is exchanged already");
  auto encoded = own_.encode();
  if (!encoded.ok()) return encoded.status();
  encoded->resize(ModexRecord::kBytes);
  const auto all = launcher_->gather(encoded->data(), encoded->size());
  if (!all.ok()) return all.status();
  std::vector<ModexRecord> records;
  for (std::size_t at = 0; at < all->size(); at += ModexRecord::kBytes) {
    auto record = ModexRecord::decode(all->data() + at, ModexRecord::kBytes);
    if (!record.ok()) return record.status();
    records.push_back(std::move(*record));
  }
  const Bytes bytes = NodeData::pack(records);
  auto parsed = NodeData::parse(bytes);
  if (!parsed.ok()) return parsed.status();
  if (parsed->processes() != nodes_[own_node()].processes) {
    return Status(StatusCode::kInternal, "start-up data: not all of a node's processes gave it");
  }
  keep(own_node(), std::move(*parsed));
  exchanged_ = true;
  if (nodes() == 1) return {};
  if (is_root()) {
    Status status = put_node(bytes);
    if (!status.ok()) return status;
  }
  return fence();
}

Status Modex::put_node(const Bytes& bytes) {
  const std::string text = to_text(bytes.data(), bytes.size());
  const std::size_t length = launcher_->value_length() - kHeadLength;
  const std::size_t values = std::max<std::size_t>((text.size() + length - 1) / length, 1);
  const std::string own_key = key(std::to_string(own_node()));
  for (std::size_t i = 0; i < values; ++i) {
    const std::string part = text.substr(i * length, length);
    Status status = i == 0 ? put(own_key, std::to_string(values) + '.' + part)
                           : put(own_key + '.' + std::to_string(i), part);
    if (!status.ok()) return status;
  }
  return {};
}

Result<Bytes> Modex::get_node(std::size_t node) {
  const std::string its_key = key(std::to_string(node));
  const int root = nodes_[node].root;
  const auto first = get(root, its_key);
  if (!first.ok()) return first.status();
  std::string_view begin = *first;
  const std::size_t values = take_number(&begin);
  if (values == 0 || values > NodeData::kMostBytes / kHeadLength) return broken(its_key);
  std::string text(begin);
  for (std::size_t i = 1; i < values; ++i) {
    const auto next = get(root, its_key + '.' + std::to_string(i));
    if (!next.ok()) return next.status();
    text += *next;
  }
  auto bytes = from_text(text);
  if (!bytes) return broken(its_key);
  return std::move(*bytes);
}

void Modex::keep(std::size_t node, NodeData data) {
  Known& known = known_[node];
  known.data = std::move(data);
  for (int rank = nodes_[node].root; known.ranks.size() < nodes_[node].processes; ++rank) {
    if (node_of(rank) == node) known.ranks.push_back(rank);
  }
}

Result<const Modex::Known*> Modex::known(std::size_t node) {
  const auto found = known_.find(node);
  if (found != known_.end()) return &found->second;
  auto bytes = get_node(node);
  if (!bytes.ok()) return bytes.status();
  auto data = NodeData::parse(std::move(*bytes));
  if (!data.ok()) return data.status();
  if (data->processes() != nodes_[node].processes) return broken(key(std::to_string(node)));
  keep(node, std::move(*data));
  return &known_.at(node);
}

Result<const NodeData*> Modex::node_data(std::size_t node) {
  const auto its = known(node);
  if (!its.ok()) return its.status();
  return &(*its)->data;
}

Result<const Modex::Known*> Modex::data_of(int rank, std::uint32_t name) {
  const auto wrong = [](const char* what) {
    return Status(StatusCode::kInvalidArgument, std::string("start-up data: ") + what);
  };
  if (rank < 0 || rank >= job_.size) return wrong("no process has this rank");
  if (names_.count(name) == 0) return wrong("the name is not registered");
  if (!exchanged_) return wrong("it is not exchanged yet");
  return known(node_of(rank));
}

namespace {

Result<Bytes> found(std::optional<Bytes> data, const std::string& name, int rank) {
  if (data) return std::move(*data);
  return Status(StatusCode::kNotFound, "start-up data: rank " + std::to_string(rank) +
                                           " has none of the name '" + name + "'");
}

}  // namespace

Result<Bytes> Modex::receive_process(int rank, std::uint32_t name) {
  const auto data = data_of(rank, name);
  if (!data.ok()) return data.status();
  const std::vector<int>& ranks = (*data)->ranks;
  const auto place = std::lower_bound(ranks.begin(), ranks.end(), rank) - ranks.begin();
  return found((*data)->data.of_process(static_cast<std::size_t>(place), name), names_.at(name),
               rank);
}

Result<Bytes> Modex::receive_node(int rank, std::uint32_t name) {
  const auto data = data_of(rank, name);
  if (!data.ok()) return data.status();
  return found((*data)->data.of_node(name), names_.at(name), rank);
}

std::size_t Modex::nodes_of_group() const { return square_root_above(nodes()); }

std::string Modex::group_key(std::size_t group) const {
  return key("agree-" + std::to_string(agreements_) + '-' + std::to_string(group));
}

/// Tells the different values of the nodes of a group, as a record by made-up names.
Status Modex::tell_group(std::uint32_t name, std::size_t group) {
  std::set<Bytes> values;
  const std::size_t end = std::min((group + 1) * nodes_of_group(), nodes());
  for (std::size_t node = group * nodes_of_group(); node < end; ++node) {
    const auto data = node_data(node);
    if (!data.ok()) return data.status();
    for (Bytes& each : (*data)->values(name)) values.insert(std::move(each));
  }
  ModexRecord record;
  std::uint32_t number = 0;
  for (const Bytes& each : values) record.process[number++] = each;
  const auto bytes = record.encode();
  const bool fits = bytes.ok() && values.size() <= kValues &&
                    text_length(bytes->size()) <= launcher_->value_length();
  return put(group_key(group),
             fits ? to_text(bytes->data(), bytes->size()) : std::string(1, kTooMany));
}

/// The different values of all groups; more than kValues of them where a group had too many.
Status Modex::read_groups(std::vector<Bytes>* out) {
  std::set<Bytes> values;
  const std::size_t groups = (nodes() + nodes_of_group() - 1) / nodes_of_group();
  for (std::size_t group = 0; group < groups && values.size() <= kValues; ++group) {
    const auto value = get(nodes_[group * nodes_of_group()].root, group_key(group));
    if (!value.ok()) return value.status();
    if (*value == std::string(1, kTooMany)) {
      out->resize(kValues + 1);
      return {};
    }
    const auto bytes = from_text(*value);
    if (!bytes) return broken(group_key(group));
    const auto record = ModexRecord::decode(bytes->data(), bytes->size());
    if (!record.ok()) return record.status();
    for (const auto& each : record->process) values.insert(each.second);
  }
  out->assign(values.begin(), values.end());
  return {};
}

Status Modex::tell(std::uint32_t name) {
  const auto own = data_of(job_.rank, name);
  if (!own.ok()) return own.status();
  return tells() ? tell_group(name, own_node() / nodes_of_group()) : Status();
}

Result<bool> Modex::hear(std::uint32_t name, const Agree& agree) {
  const auto own = data_of(job_.rank, name);
  if (!own.ok()) return own.status();
  std::vector<Bytes> values;
  if (nodes() == 1) {
    values = (*own)->data.values(name);
  } else if (is_root()) {
    const Status status = read_groups(&values);
    if (!status.ok()) return status;
  }
  ++agreements_;
  bool all = values.size() <= kValues;
  for (std::size_t i = 0; all && i < values.size(); ++i) {
    for (std::size_t k = i; all && k < values.size(); ++k) all = agree(values[i], values[k]);
  }
  if (nodes() == 1) return all;
  // The node's first process knows it.
  const std::byte told{static_cast<unsigned char>(all)};
  const auto heard = launcher_->gather(&told, 1);
  if (!heard.ok()) return heard.status();
  return heard->front() != std::byte{0};
}

Result<bool> Modex::agree(std::uint32_t name, const Agree& agree) {
  Status status = tell(name);
  if (status.ok() && nodes() > 1) status = fence();
  if (!status.ok()) return status;
  return hear(name, agree);
}

}  // namespace mad
