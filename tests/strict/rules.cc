#include "tests/strict/rules.h"

#include <rdma/fi_rma.h>

#include <algorithm>
#include <utility>

namespace mad::strict {

void Rules::add_region(void* descriptor, const void* base, std::size_t bytes,
                       std::uint64_t access) {
  const auto begin = reinterpret_cast<std::uintptr_t>(base);
  regions_[descriptor] = Region{begin, begin + bytes, access, 0};
}

std::string Rules::remove_region(void* descriptor) {
  const auto found = regions_.find(descriptor);
  if (found == regions_.end()) return "a region is closed that is not open";
  if (found->second.uses > 0) {
    return "a region is closed that " + std::to_string(found->second.uses) + " operations use";
  }
  regions_.erase(found);
  return {};
}

std::string Rules::find(const iovec& segment, void* descriptor, std::uint64_t access,
                        Region** out) {
  if (descriptor == nullptr) return "a segment without the descriptor of a region";
  const auto found = regions_.find(descriptor);
  if (found == regions_.end()) return "a segment with the descriptor of a region that is closed";
  Region& region = found->second;
  const auto begin = reinterpret_cast<std::uintptr_t>(segment.iov_base);
  if (begin < region.begin || segment.iov_len > region.end - region.begin ||
      begin - region.begin > region.end - region.begin - segment.iov_len) {
    return "a segment of " + std::to_string(segment.iov_len) + " bytes that is not in its region";
  }
  if ((region.access & access) != access) return "a region that was not registered for this";
  *out = &region;
  return {};
}

std::string Rules::receive(const iovec& buffer, void* descriptor, const void* context) {
  Operation operation;
  if (persona_.registers()) {
    Region* region = nullptr;
    std::string wrong = find(buffer, descriptor, FI_RECV, &region);
    if (!wrong.empty()) return wrong;
    ++region->uses;
    operation.regions.push_back(region);
  }
  ++buffers_->ready;
  operations_[context] = std::move(operation);
  return {};
}

std::string Rules::send(Sender& from, const iovec* iov, void* const* descriptors, std::size_t count,
                        std::uint64_t access, bool injected, const void* context) {
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < count; ++i) bytes += iov[i].iov_len;
  if (count > persona_.segments) {
    return std::to_string(count) + " segments, at most " + std::to_string(persona_.segments);
  }
  if (injected && bytes > persona_.inject_bytes) {
    return std::to_string(bytes) + " bytes injected, at most " +
           std::to_string(persona_.inject_bytes);
  }
  Operation operation;
  operation.from = &from;
  for (std::size_t i = 0; i < count && !injected && persona_.registers(); ++i) {
    Region* region = nullptr;
    std::string wrong =
        find(iov[i], descriptors != nullptr ? descriptors[i] : nullptr, access, &region);
    if (!wrong.empty()) return wrong;
    operation.regions.push_back(region);
  }
  if (access == FI_SEND) {
    std::string wrong = take_buffer(from);
    if (!wrong.empty()) return wrong;
  }
  for (Region* region : operation.regions) ++region->uses;
  ++from.operations;
  operations_[context] = std::move(operation);
  return {};
}

std::string Rules::take_buffer(Sender& from) const {
  if (from.receiver == nullptr || from.receiver->closed) return {};
  Buffers& there = *from.receiver;
  if (there.expected >= there.ready) {
    return "a message for which no receive buffer is ready: " + std::to_string(there.expected) +
           " are under way to " + std::to_string(there.ready);
  }
  ++there.expected;
  ++from.under_way;
  return {};
}

std::string Rules::inject(Sender& from, std::size_t bytes) {
  if (bytes > persona_.inject_bytes) {
    return std::to_string(bytes) + " bytes injected, at most " +
           std::to_string(persona_.inject_bytes);
  }
  return take_buffer(from);
}

void Rules::inject_taken_back(Sender& from) {
  if (from.under_way == 0) return;
  --from.receiver->expected;
  --from.under_way;
}

void Rules::completed(const void* context) {
  const auto found = operations_.find(context);
  if (found == operations_.end()) return;
  for (Region* region : found->second.regions) --region->uses;
  if (found->second.from != nullptr) {
    --found->second.from->operations;
  } else {
    --buffers_->ready;
  }
  operations_.erase(found);
}

void Rules::taken_back(Sender& from, std::uint64_t access, const void* context) {
  completed(context);
  if (access == FI_SEND) inject_taken_back(from);
}

void Rules::received(Sender* from) {
  if (from == nullptr || from->under_way == 0) return;
  --from->under_way;
  --buffers_->expected;
}

void Rules::closed(Sender& from) {
  if (from.receiver != nullptr) from.receiver->expected -= from.under_way;
  end_all_of(&from);
  from = Sender{};
}

void Rules::no_receives() {
  end_all_of(nullptr);
  buffers_->ready = 0;
  buffers_->closed = true;
}

void Rules::end_all_of(const Sender* from) {
  for (auto each = operations_.begin(); each != operations_.end();) {
    if (each->second.from != from) {
      ++each;
      continue;
    }
    for (Region* region : each->second.regions) --region->uses;
    each = operations_.erase(each);
  }
}

}  // namespace mad::strict
