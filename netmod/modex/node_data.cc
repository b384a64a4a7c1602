#include "netmod/modex/node_data.h"

#include <algorithm>
#include <set>
#include <string>

namespace mad {
namespace {

using Bytes = ModexBytes;

constexpr std::size_t kNameBytes = 4;
constexpr unsigned kNumberBits = 7;
constexpr unsigned kMore = 1U << kNumberBits;
constexpr unsigned kNumberBytes = 4;  // at most
constexpr unsigned kByteBits = 8;

void put_number(Bytes* out, std::size_t number) {
  for (; number >= kMore; number >>= kNumberBits) {
    out->push_back(std::byte(number % kMore | kMore));
  }
  out->push_back(std::byte(number));
}

void put_name(Bytes* out, std::uint32_t name) {
  for (unsigned i = 0; i < kNameBytes; ++i) out->push_back(std::byte(name >> kByteBits * i & 0xff));
}

void put_named(Bytes* out, const std::map<std::uint32_t, Bytes>& named) {
  put_number(out, named.size());
  for (const auto& [name, data] : named) {
    put_name(out, name);
    put_number(out, data.size());
    out->insert(out->end(), data.begin(), data.end());
  }
}

Status broken(const char* what) {
  return Status(StatusCode::kProtocol, std::string("start-up data: ") + what);
}

/// Takes numbers and names from the front of what is left; once something is wrong it stays so.
class Reader {
 public:
  Reader(const std::byte* bytes, std::size_t size) : bytes_(bytes), size_(size) {}

  bool ok() const { return ok_; }
  bool empty() const { return at_ == size_; }
  std::size_t at() const { return at_; }
  std::size_t left() const { return size_ - at_; }
  void fail() { ok_ = false; }

  /// Where the next `size` bytes are.
  std::size_t skip(std::size_t size) {
    if (size > left()) ok_ = false;
    const std::size_t begin = at_;
    if (ok_) at_ += size;
    return begin;
  }
  unsigned byte() {
    const std::size_t at = skip(1);
    return ok_ ? std::to_integer<unsigned>(bytes_[at]) : 0;
  }
  std::size_t number() {
    std::size_t out = 0;
    for (unsigned i = 0; i < kNumberBytes; ++i) {
      const unsigned next = byte();
      out |= std::size_t{next % kMore} << kNumberBits * i;
      if (next < kMore) {
        if (next == 0 && i > 0) ok_ = false;
        return out;
      }
    }
    ok_ = false;
    return 0;
  }
  std::uint32_t name() {
    std::uint32_t out = 0;
    for (unsigned i = 0; i < kNameBytes; ++i) out |= byte() << kByteBits * i;
    return out;
  }
  Bytes take(std::size_t size) {
    const std::size_t at = skip(size);
    return ok_ ? Bytes(bytes_ + at, bytes_ + at + size) : Bytes();
  }

 private:
  const std::byte* bytes_;
  std::size_t size_;
  std::size_t at_ = 0;
  bool ok_ = true;
};

bool read_named(Reader* in, std::map<std::uint32_t, Bytes>* named) {
  for (std::size_t left = in->number(); in->ok() && left > 0; --left) {
    const std::uint32_t name = in->name();
    Bytes data = in->take(in->number());
    if (!in->ok() || !named->emplace(name, std::move(data)).second) return false;
  }
  return in->ok();
}

/// Data of one name and size.
struct Alike {
  std::vector<std::size_t> members;  // processes, ascending
  std::vector<const Bytes*> values;  // theirs
};

void put_members(Bytes* out, const std::vector<std::size_t>& members, std::size_t processes) {
  if (members.size() == processes) return put_number(out, 0);
  std::vector<std::pair<std::size_t, std::size_t>> ranges;  // first, end
  for (const std::size_t each : members) {
    if (ranges.empty() || ranges.back().second != each) ranges.emplace_back(each, each);
    ++ranges.back().second;
  }
  put_number(out, ranges.size());
  std::size_t end = 0;
  for (const auto& [first, last] : ranges) {
    put_number(out, first - end);
    put_number(out, last - first);
    end = last;
  }
}

void put_alike(Bytes* out, std::size_t size, const Alike& alike, std::size_t processes) {
  put_number(out, size);
  put_members(out, alike.members, processes);
  const Bytes& first = *alike.values.front();
  std::vector<bool> differs(size);
  for (const Bytes* const each : alike.values) {
    for (std::size_t i = 0; i < size; ++i) differs[i] = differs[i] || (*each)[i] != first[i];
  }
  Bytes mask((size + kByteBits - 1) / kByteBits);
  for (std::size_t i = 0; i < size; ++i) {
    if (differs[i]) mask[i / kByteBits] |= std::byte(1U << i % kByteBits);
  }
  out->insert(out->end(), mask.begin(), mask.end());
  for (std::size_t i = 0; i < size; ++i) {
    if (!differs[i]) out->push_back(first[i]);
  }
  for (const Bytes* const each : alike.values) {
    for (std::size_t i = 0; i < size; ++i) {
      if (differs[i]) out->push_back((*each)[i]);
    }
  }
}

}  // namespace

Result<Bytes> ModexRecord::encode() const {
  Bytes out;
  put_named(&out, node);
  put_named(&out, process);
  if (out.size() <= kBytes) return out;
  return Status(StatusCode::kInvalidArgument, "a process sends " + std::to_string(out.size()) +
                                                  " bytes of start-up data, and may send " +
                                                  std::to_string(kBytes));
}

Result<ModexRecord> ModexRecord::decode(const std::byte* bytes, std::size_t size) {
  Reader in(bytes, size);
  ModexRecord out;
  if (read_named(&in, &out.node) && read_named(&in, &out.process)) return out;
  return broken("a process's record is none");
}

Bytes NodeData::pack(const std::vector<ModexRecord>& records) {
  std::map<std::uint32_t, Bytes> node;
  std::map<std::uint32_t, std::map<std::size_t, Alike>> columns;
  for (std::size_t i = 0; i < records.size(); ++i) {
    for (const auto& [name, data] : records[i].node) node[name] = data;
    for (const auto& [name, data] : records[i].process) {
      Alike& alike = columns[name][data.size()];
      alike.members.push_back(i);
      alike.values.push_back(&data);
    }
  }
  Bytes out = {std::byte{kVersion}};
  put_number(&out, records.size());
  put_named(&out, node);
  put_number(&out, columns.size());
  for (const auto& [name, sizes] : columns) {
    put_name(&out, name);
    put_number(&out, sizes.size());
    for (const auto& [size, alike] : sizes) put_alike(&out, size, alike, records.size());
  }
  return out;
}

/// Reads the bytes of a NodeData into it.
class NodeData::Parser {
 public:
  explicit Parser(NodeData* data) : data_(*data), in_(data->bytes_.data(), data->bytes_.size()) {}

  bool read() {
    if (in_.byte() != kVersion) return false;
    data_.processes_ = in_.number();
    if (!in_.ok() || data_.processes_ == 0) return false;
    for (std::size_t left = in_.number(); in_.ok() && left > 0; --left) {
      const std::uint32_t name = in_.name();
      const std::size_t size = in_.number();
      if (!data_.node_.emplace(name, Span{in_.skip(size), size}).second) in_.fail();
    }
    for (std::size_t left = in_.number(); in_.ok() && left > 0; --left) {
      const std::uint32_t name = in_.name();
      const auto [column, is_new] = data_.columns_.try_emplace(name);
      if (!is_new || !read_column(&column->second)) in_.fail();
    }
    return in_.ok() && in_.empty();
  }

 private:
  bool read_column(std::vector<Group>* groups) {
    const std::size_t number = in_.number();
    if (number == 0) return false;
    std::vector<Range> taken;
    for (std::size_t i = 0; in_.ok() && i < number; ++i) {
      Group group = read_group();
      if (i > 0 && group.size <= groups->back().size) return false;
      taken.insert(taken.end(), group.members.begin(), group.members.end());
      groups->push_back(std::move(group));
    }
    std::sort(taken.begin(), taken.end());
    for (std::size_t i = 1; i < taken.size(); ++i) {
      if (taken[i].first < taken[i - 1].first + taken[i - 1].second) return false;
    }
    return in_.ok();
  }

  Group read_group() {
    Group group;
    group.size = in_.number();
    if (group.size > ModexRecord::kBytes) in_.fail();
    read_members(&group);
    if (in_.ok()) read_mask(&group);
    if (!in_.ok()) return group;
    const std::size_t common = group.size - group.differ.size();
    group.common = {in_.skip(common), common};
    // Both are bounded, so that their product is a number.
    const std::size_t rows = group.differ.size() * group.count;
    group.rows = {in_.skip(rows), rows};
    return group;
  }

  void read_members(Group* group) {
    const std::size_t ranges = in_.number();
    if (ranges == 0) {
      group->members.emplace_back(0, data_.processes_);
      group->count = data_.processes_;
      return;
    }
    std::size_t end = 0;
    for (std::size_t i = 0; in_.ok() && i < ranges; ++i) {
      const std::size_t first = end + in_.number();
      const std::size_t count = in_.number();
      end = first + count;
      if (!in_.ok() || count == 0 || end > data_.processes_) return in_.fail();
      group->members.emplace_back(first, count);
      group->count += count;
    }
  }

  void read_mask(Group* group) {
    group->mask.size = (group->size + kByteBits - 1) / kByteBits;
    group->mask.at = in_.skip(group->mask.size);
    if (!in_.ok()) return;
    for (std::size_t i = 0; i < group->mask.size * kByteBits; ++i) {
      const auto bits = std::to_integer<unsigned>(data_.bytes_[group->mask.at + i / kByteBits]);
      if ((bits >> i % kByteBits & 1U) == 0) continue;
      if (i >= group->size) return in_.fail();
      group->differ.push_back(static_cast<std::uint16_t>(i));
    }
  }

  NodeData& data_;
  Reader in_;
};

Result<NodeData> NodeData::parse(Bytes bytes) {
  NodeData out;
  out.bytes_ = std::move(bytes);
  if (out.bytes_.size() > kMostBytes) return broken("a node's are too many");
  if (!Parser(&out).read()) return broken("a node's are damaged, or of another version");
  return out;
}

std::size_t NodeData::process_bytes() const {
  std::size_t out = 0;
  for (const auto& column : columns_) {
    for (const Group& group : column.second) out += group.rows.size;
  }
  return out;
}

Bytes NodeData::value(const Group& group, std::size_t member) const {
  Bytes out(group.size);
  auto common = bytes_.begin() + static_cast<std::ptrdiff_t>(group.common.at);
  auto own =
      bytes_.begin() + static_cast<std::ptrdiff_t>(group.rows.at + member * group.differ.size());
  auto next = group.differ.begin();
  for (std::size_t i = 0; i < group.size; ++i) {
    const bool differs = next != group.differ.end() && *next == i;
    if (differs) ++next;
    out[i] = differs ? *own++ : *common++;
  }
  return out;
}

std::optional<Bytes> NodeData::of_node(std::uint32_t name) const {
  const auto found = node_.find(name);
  if (found == node_.end()) return std::nullopt;
  const auto begin = bytes_.begin() + static_cast<std::ptrdiff_t>(found->second.at);
  return Bytes(begin, begin + static_cast<std::ptrdiff_t>(found->second.size));
}

std::optional<Bytes> NodeData::of_process(std::size_t place, std::uint32_t name) const {
  const auto column = columns_.find(name);
  if (column == columns_.end()) return std::nullopt;
  for (const Group& group : column->second) {
    std::size_t member = 0;
    for (const auto& [first, count] : group.members) {
      if (place >= first && place - first < count) return value(group, member + place - first);
      member += count;
    }
  }
  return std::nullopt;
}

std::vector<Bytes> NodeData::values(std::uint32_t name) const {
  std::set<Bytes> out;
  std::size_t having = 0;
  const auto column = columns_.find(name);
  if (column != columns_.end()) {
    for (const Group& group : column->second) {
      having += group.count;
      const std::size_t members = group.differ.empty() ? 1 : group.count;
      for (std::size_t i = 0; i < members; ++i) out.insert(value(group, i));
    }
  }
  if (having < processes_) out.insert(Bytes());
  return {out.begin(), out.end()};
}

}  // namespace mad
