// Modex: the exchange of what processes have to know of each other before they can talk.
//
// Every process names what it sends, data of its own or of its node; the processes of a node put
// theirs together (node_data.h) and one of them gives it to the launcher.  Nobody reads what others
// gave before it is asked for; then all that a node gave is read and kept.
//
// Keys of the launcher: mad-EPOCH-NODE has the number of values that hold the node's data, a dot,
// and the first; mad-EPOCH-NODE.I, I from 1 on, has the others.  mad-EPOCH-agree-GROUP: see
// agree().
#ifndef NETMOD_MODEX_MODEX_H_
#define NETMOD_MODEX_MODEX_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "madlike/base/status.h"
#include "netmod/modex/launcher.h"
#include "netmod/modex/node_data.h"

namespace mad {

/// Who takes part.
struct ModexJob {
  int rank = 0;                // of this process
  int size = 0;                // processes
  const int* nodes = nullptr;  // of each rank, 0 or more; they live longer
  std::uint32_t epoch = 0;     // tells this exchange from earlier ones of the same processes
};

/// What it cost this process.
struct ModexCosts {
  std::size_t puts = 0, put_characters = 0;  // with keys
  std::size_t gets = 0, got_characters = 0;
  std::size_t fences = 0;
};

class Modex {
 public:
  /// `launcher` lives longer.  kInvalidArgument: the job is none.
  static Result<Modex> open(const ModexJob& job, Launcher* launcher);

  /// The hash that stands for a name.  kInvalidArgument: it is another name's, too, that was
  /// registered here; choose another.
  Result<std::uint32_t> add_name(const std::string& name);

  /// Before exchange(); what the same process sent by that name before is replaced.
  /// kInvalidArgument: the name is not registered; more than a process may send; kClosed: the
  /// exchange has been.
  Status send_process(std::uint32_t name, ModexBytes data);
  /// The same for data of the node.  One process of a node sends it; if several do, one of them
  /// wins, that of the highest rank.
  Status send_node(std::uint32_t name, ModexBytes data);

  /// All processes of the job call it once.
  Status exchange();

  /// kNotFound: it sent none of this name; kProtocol: what is there is no start-up data; the
  /// launcher's error.
  Result<ModexBytes> receive_process(int rank, std::uint32_t name);
  /// Of the node that the process is on.
  Result<ModexBytes> receive_node(int rank, std::uint32_t name);

  /// Whether any two processes agree in what they sent by a name, or left out, which is no bytes
  /// here.  All call it, after exchange().  No process looks at more than about two square roots of
  /// the number of nodes: a group's first process at its group's data, of which it tells the
  /// different values, and each node's first process at what the groups told.  More than kValues
  /// different ones, or more than the launcher takes, do not agree.
  using Agree = std::function<bool(const ModexBytes&, const ModexBytes&)>;
  Result<bool> agree(std::uint32_t name, const Agree& agree);
  static constexpr std::size_t kValues = 64;
  /// The parts of agree(), with a fence of the launcher between them.
  Status tell(std::uint32_t name);
  /// Whether tell() has this process speak for a group.
  bool tells() const { return nodes() > 1 && is_root() && own_node() % nodes_of_group() == 0; }
  Result<bool> hear(std::uint32_t name, const Agree& agree);

  std::size_t nodes() const { return nodes_.size(); }
  /// Of the own one.
  std::size_t processes_of_node() const { return nodes_[own_node()].processes; }
  /// The data of a node, fetched now if that is needed.
  Result<const NodeData*> node_data(std::size_t node);
  const ModexCosts& costs() const { return costs_; }

 private:
  struct Known {
    NodeData data;
    std::vector<int> ranks;  // of its processes, ascending
  };
  struct Node {
    int root = -1;  // its first rank
    std::size_t processes = 0;
  };

  Modex(const ModexJob& job, Launcher* launcher) : job_(job), launcher_(launcher) {}

  std::size_t own_node() const { return node_of(job_.rank); }
  std::size_t node_of(int rank) const {
    const auto number = static_cast<std::size_t>(job_.nodes[rank]);
    return numbers_.empty() ? number : numbers_[number];
  }
  bool is_root() const { return nodes_[own_node()].root == job_.rank; }
  std::size_t nodes_of_group() const;
  void keep(std::size_t node, NodeData data);
  Status check_send(std::uint32_t name, const ModexBytes& data) const;
  Result<const Known*> data_of(int rank, std::uint32_t name);
  Result<const Known*> known(std::size_t node);
  std::string key(const std::string& what) const;
  std::string group_key(std::size_t group) const;
  Status put(const std::string& key, const std::string& value);
  Result<std::string> get(int rank, const std::string& key);
  Status fence();
  Status put_node(const ModexBytes& bytes);
  Result<ModexBytes> get_node(std::size_t node);
  Status tell_group(std::uint32_t name, std::size_t group);
  Status read_groups(std::vector<ModexBytes>* out);

  ModexJob job_;
  Launcher* launcher_;
  // By the job's number of a node, unless that is ours: a launcher may leave numbers out, as hydra
  // does where a spawned world is not on its first hosts.
  static constexpr std::size_t kNoNode = SIZE_MAX;
  std::vector<std::size_t> numbers_;
  std::vector<Node> nodes_;  // those that have processes, in the order of their first ranks
  std::map<std::uint32_t, std::string> names_;
  ModexRecord own_;
  bool exchanged_ = false;
  std::uint32_t agreements_ = 0;
  std::unordered_map<std::size_t, Known> known_;  // by node
  ModexCosts costs_;
};

}  // namespace mad

#endif  // NETMOD_MODEX_MODEX_H_
