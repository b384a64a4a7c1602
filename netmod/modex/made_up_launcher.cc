#include "netmod/modex/made_up_launcher.h"

#include <algorithm>
#include <thread>
#include <utility>

namespace mad {
namespace {

class MadeUpLauncher final : public Launcher {
 public:
  MadeUpLauncher(MadeUpJob* job, int rank) : job_(*job), rank_(rank) {}

  std::size_t value_length() const override { return job_.length; }

  Status put(const std::string& key, const std::string& value) override {
    const std::lock_guard<std::mutex> lock(job_.mutex);
    if (value.size() <= job_.length && job_.values.emplace(key, value).second) return {};
    return Status(StatusCode::kInternal, "'" + key + "' cannot be put");
  }

  Result<std::string> get(int /*rank*/, const std::string& key) override {
    const std::lock_guard<std::mutex> lock(job_.mutex);
    const auto found = job_.values.find(key);
    if (found != job_.values.end() && key != job_.broken_key) return found->second;
    return Status(StatusCode::kInternal, "there is no '" + key + "'");
  }

  Status fence() override {
    job_.everybody.wait();
    return {};
  }

  Result<std::vector<std::byte>> gather(const std::byte* own, std::size_t size) override {
    const auto node = static_cast<std::size_t>(job_.nodes[static_cast<std::size_t>(rank_)]);
    {
      const std::lock_guard<std::mutex> lock(job_.mutex);
      job_.given[node][rank_] = std::vector<std::byte>(own, own + size);
    }
    job_.meetings[node]->wait();
    std::vector<std::byte> out;
    for (const auto& each : job_.given[node]) {
      out.insert(out.end(), each.second.begin(), each.second.end());
    }
    job_.meetings[node]->wait();
    return out;
  }

 private:
  MadeUpJob& job_;
  int rank_;
};

}  // namespace

void Meeting::wait() {
  std::unique_lock<std::mutex> lock(mutex_);
  const std::size_t round = round_;
  if (++here_ == threads_) {
    here_ = 0;
    ++round_;
    all_are_here_.notify_all();
    return;
  }
  all_are_here_.wait(lock, [&] { return round_ != round; });
}

MadeUpJob::MadeUpJob(std::vector<int> nodes_of_ranks, std::size_t value_length)
    : nodes(std::move(nodes_of_ranks)), length(value_length), everybody(nodes.size()) {
  const int last = *std::max_element(nodes.begin(), nodes.end());
  for (int node = 0; node <= last; ++node) {
    const auto processes = std::count(nodes.begin(), nodes.end(), node);
    meetings.push_back(&of_nodes_.try_emplace(node, processes).first->second);
  }
  given.resize(meetings.size());
}

void MadeUpJob::run(const std::function<void(int rank, Launcher& launcher)>& process) {
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    threads.emplace_back([this, &process, rank = static_cast<int>(i)] {
      MadeUpLauncher launcher(this, rank);
      process(rank, launcher);
    });
  }
  for (std::thread& each : threads) each.join();
}

}  // namespace mad
