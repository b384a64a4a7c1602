// Which rank runs on which node, in the notation that PMI-1's launchers use for it.
#ifndef NETMOD_PMIX_NODE_MAPPING_H_
#define NETMOD_PMIX_NODE_MAPPING_H_

#include <string>
#include <vector>

namespace mad::pmix {

/// "(vector,(FIRST,NODES,RANKS),...)" of the number of each rank's node: RANKS ranks on each of
/// NODES nodes one after the other, from FIRST on.  Ranks that go round all nodes again and again
/// are written once, as the blocks are repeated until there is a node for every rank.  Nodes are
/// numbered anew, in the order in which the ranks come to them.
std::string node_mapping(std::vector<int> node_of_rank);

}  // namespace mad::pmix

#endif  // NETMOD_PMIX_NODE_MAPPING_H_
