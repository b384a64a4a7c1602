#include <mpix_mad.h>

#include <cstdio>
#include <cstdlib>

#include "netmod/piggyback/wrappers.h"

namespace mad::piggyback {
namespace {

constexpr char kVariable[] = "MAD_PIGGYBACK";

void include_collectives(MPI_Comm comm) {
  MPI_Info info = MPI_INFO_NULL;
  PMPI_Info_create(&info);
  PMPI_Info_set(info, "mad_piggyback_collectives", "true");
  PMPI_Comm_set_info(comm, info);
  PMPI_Info_free(&info);
}

}  // namespace

Tool& Tool::get() {
  static Tool tool;
  return tool;
}

void Tool::start() {
  const char* const name = std::getenv(kVariable);
  use_ = make_use(name != nullptr ? name : "");
  if (use_ == nullptr) {
    std::fprintf(stderr, "mad piggyback: %s=%s; it must be \"races\" or \"trace\"\n", kVariable,
                 name != nullptr ? name : "");
    return;
  }
  adopt(MPI_COMM_WORLD);
  adopt(MPI_COMM_SELF);
}

void Tool::finish() {
  if (use_ == nullptr) return;
  for (const MPI_Comm comm : {MPI_COMM_WORLD, MPI_COMM_SELF}) {
    MPIX_Mad_piggyback_callback(comm, nullptr, nullptr);
    MPIX_Mad_piggyback_attach(comm, nullptr, 0, MPI_BYTE);
  }
  use_->finish();
}

void Tool::adopt(MPI_Comm comm) {
  if (use_ == nullptr || comm == MPI_COMM_NULL) return;
  include_collectives(comm);
  MPIX_Mad_piggyback_attach(comm, use_->value(), static_cast<int>(use_->value_bytes()), MPI_BYTE);
  MPIX_Mad_piggyback_callback(comm, on_message, this);
}

// Of other messages the program's receive tells.
void Tool::on_message(MPI_Comm /*comm*/, const MPI_Status* /*status*/, int collective,
                      const void* value, int bytes, void* tool) {
  if (collective == 0 || value == nullptr) return;
  auto& self = *static_cast<Tool*>(tool);
  const std::lock_guard<std::mutex> lock(self.mutex_);
  self.use_->received_inside(value, static_cast<std::size_t>(bytes));
}

Receive Tool::wanted(int source, int tag, MPI_Comm comm) {
  const std::lock_guard<std::mutex> lock(mutex_);
  Receive receive;
  receive.posted = ++posted_;
  receive.comm = static_cast<std::uint64_t>(comm);
  receive.any_source = source == MPI_ANY_SOURCE;
  receive.any_tag = tag == MPI_ANY_TAG;
  return receive;
}

void Tool::sending() {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (use_ != nullptr) use_->sending();
}

void Tool::posted(MPI_Request request, const Receive& receive, bool persistent) {
  const std::lock_guard<std::mutex> lock(mutex_);
  requests_[request] = {receive, persistent};
}

void Tool::started(MPI_Request request) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto found = requests_.find(request);
  if (found != requests_.end()) found->second.receive.posted = ++posted_;
}

void Tool::forget(MPI_Request request) {
  const std::lock_guard<std::mutex> lock(mutex_);
  requests_.erase(request);
}

void Tool::matched(MPI_Message message, const Receive& receive) {
  const std::lock_guard<std::mutex> lock(mutex_);
  messages_[message] = receive;
}

Receive Tool::take(MPI_Message message) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto found = messages_.find(message);
  if (found == messages_.end()) return {};
  const Receive receive = found->second;
  messages_.erase(found);
  return receive;
}

void Tool::received(Receive receive, const MPI_Status& status) {
  unsigned char value[MPIX_MAD_PIGGYBACK_MAX];
  int bytes = MPI_UNDEFINED, cancelled = 0;
  if (use_ == nullptr || status.MPI_SOURCE < 0) return;  // MPI_PROC_NULL, or no receive
  PMPI_Test_cancelled(&status, &cancelled);
  if (cancelled != 0) return;
  if (MPIX_Mad_piggyback_get(&status, value, sizeof(value), MPI_BYTE, &bytes) != MPI_SUCCESS ||
      bytes == MPI_UNDEFINED) {
    bytes = 0;
  }
  receive.source = status.MPI_SOURCE;
  receive.tag = status.MPI_TAG;
  const std::lock_guard<std::mutex> lock(mutex_);
  use_->received(receive, value, static_cast<std::size_t>(bytes));
}

void Tool::completed(MPI_Request request, const MPI_Status& status) {
  Receive receive;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto found = requests_.find(request);
    if (found == requests_.end()) return;
    receive = found->second.receive;
    if (!found->second.persistent) requests_.erase(found);
  }
  received(receive, status);
}

void Tool::called(const char* name, std::int64_t start) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (use_ != nullptr) use_->called(name, start, now());
}

}  // namespace mad::piggyback
