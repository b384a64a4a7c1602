// The C functions of other processes' memory: they check what the caller gave, then call
// ProcessMemory.
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "madlike/driver/door/handshake.h"
#include "madlike/driver/memory/process_memory.h"
#include "netmod/abi/errors.h"
#include "netmod/abi/mad.h"

struct mad_memory {
  mad::ProcessMemory memory;
};

namespace {

static_assert(MAD_MEMORY_RUNS == mad::ProcessMemory::kMostRuns);
static_assert(sizeof(mad_run) == sizeof(mad::Segment) &&
              offsetof(mad_run, base) == offsetof(mad::Segment, data) &&
              offsetof(mad_run, bytes) == offsetof(mad::Segment, size));

using Move = mad::Status (mad::ProcessMemory::*)(std::uint64_t, mad::SegmentList) const;

int move(const char* function, Move how, const mad_memory* memory, std::uint64_t address,
         const mad_run* runs, std::size_t count) {
  return mad::guarded([&]() -> int {
    if (memory == nullptr || (runs == nullptr && count > 0) || count > MAD_MEMORY_RUNS) {
      return mad::fail(MAD_ERR_ARGUMENT,
                       std::string(function) + ": memory or runs is NULL, or there are too many");
    }
    const mad::SegmentList list{reinterpret_cast<const mad::Segment*>(runs), count};
    return mad::to_abi((memory->memory.*how)(address, list));
  });
}

}  // namespace

extern "C" int mad_process_self(uint64_t* word, mad_process* out) {
  return mad::guarded([&]() -> int {
    if (word == nullptr || out == nullptr) {
      return mad::fail(MAD_ERR_ARGUMENT, "mad_process_self: word or out is NULL");
    }
    *word = mad::random_number<std::uint64_t>();
    *out = {static_cast<std::uint64_t>(getpid()), reinterpret_cast<std::uintptr_t>(word), *word};
    return MAD_SUCCESS;
  });
}

extern "C" int mad_memory_open(const mad_process* process, mad_memory** out) {
  return mad::guarded([&]() -> int {
    if (process == nullptr || out == nullptr) {
      return mad::fail(MAD_ERR_ARGUMENT, "mad_memory_open: process or out is NULL");
    }
    auto memory = mad::ProcessMemory::open({process->pid, process->address, process->word});
    if (!memory.ok()) return mad::to_abi(memory.status());
    *out = std::make_unique<mad_memory>(mad_memory{std::move(*memory)}).release();
    return MAD_SUCCESS;
  });
}

extern "C" void mad_memory_close(mad_memory* memory) { delete memory; }

extern "C" int mad_memory_read(const mad_memory* memory, uint64_t address, const mad_run* places,
                               size_t count) {
  return move("mad_memory_read", &mad::ProcessMemory::read, memory, address, places, count);
}

extern "C" int mad_memory_write(const mad_memory* memory, uint64_t address, const mad_run* runs,
                                size_t count) {
  return move("mad_memory_write", &mad::ProcessMemory::write, memory, address, runs, count);
}
