// Goes through a description's nodes, each once, children before those that use them.
//
// A tree may be deep and its nodes shared any number of times: there is no recursion, and time is
// that of the distinct nodes.
#ifndef DATATYPE_PATH_DESCRIBE_CHILDREN_FIRST_H_
#define DATATYPE_PATH_DESCRIBE_CHILDREN_FIRST_H_

#include <cstddef>
#include <vector>

#include "datatype_path/describe/type_desc.h"

namespace mad {

/// Calls `visit(node)` for every node from `root` down; `visited(node)` is whether it was called.
template <typename Visited, typename Visit>
void children_first(const TypeDesc& root, Visited visited, Visit visit) {
  constexpr std::size_t kFewNodes = 16;
  std::vector<const TypeDesc*> todo;
  todo.reserve(kFewNodes);
  todo.push_back(&root);
  while (!todo.empty()) {
    const TypeDesc& type = *todo.back();
    if (!visited(type)) {
      const std::size_t before = todo.size();
      for (const TypeDescPtr& child : type.children()) {
        if (!visited(*child)) todo.push_back(child.get());
      }
      if (todo.size() != before) continue;
      visit(type);
    }
    todo.pop_back();
  }
}

}  // namespace mad

#endif  // DATATYPE_PATH_DESCRIBE_CHILDREN_FIRST_H_
