#include "netmod/pmix/node_mapping.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <string>
#include <vector>

namespace mad::pmix {
namespace {

struct Block {
  int first;
  int nodes;
  int ranks;  // on each of them
};

void number_by_appearance(std::vector<int>& nodes) {
  std::map<int, int> numbers;
  for (int& node : nodes) {
    node = numbers.emplace(node, static_cast<int>(numbers.size())).first->second;
  }
}

// Ranks after which the first node comes again, if the nodes go on from there as they began; else
// all of them.
std::size_t period(const std::vector<int>& nodes) {
  for (std::size_t length = 1; length < nodes.size(); ++length) {
    if (nodes[length] != 0 || nodes[length - 1] == 0) continue;
    const auto as_before = [&](std::size_t rank) { return nodes[rank] == nodes[rank % length]; };
    for (std::size_t rank = length; rank < nodes.size(); ++rank) {
      if (!as_before(rank)) return nodes.size();
    }
    return length;
  }
  return nodes.size();
}

std::vector<Block> blocks(const std::vector<int>& nodes, std::size_t ranks) {
  std::vector<Block> found;
  for (std::size_t rank = 0; rank < ranks;) {
    const int node = nodes[rank];
    const auto begin = nodes.begin() + static_cast<std::ptrdiff_t>(rank);
    const auto end = std::find_if(begin, nodes.begin() + static_cast<std::ptrdiff_t>(ranks),
                                  [node](int other) { return other != node; });
    const int length = static_cast<int>(end - begin);
    if (!found.empty() && found.back().ranks == length &&
        found.back().first + found.back().nodes == node) {
      ++found.back().nodes;
    } else {
      found.push_back({node, 1, length});
    }
    rank += static_cast<std::size_t>(length);
  }
  return found;
}

}  // namespace

std::string node_mapping(std::vector<int> node_of_rank) {
  number_by_appearance(node_of_rank);
  std::string text = "(vector";
  for (const Block& block : blocks(node_of_rank, period(node_of_rank))) {
    text += ",(" + std::to_string(block.first) + "," + std::to_string(block.nodes) + "," +
            std::to_string(block.ranks) + ")";
  }
  return text + ")";
}

}  // namespace mad::pmix
