#include "madlike/driver/memory/process_memory.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace mad {
namespace {

constexpr std::uint64_t kWord = 0x0123456789abcdef;

std::uint64_t address_of(const void* place) { return reinterpret_cast<std::uintptr_t>(place); }

/// A child that waits until it is killed, or, if it is `brief`, has ended.
class Child {
 public:
  explicit Child(bool brief = false) : pid_(fork()) {
    if (pid_ == 0 && brief) _exit(0);
    while (pid_ == 0) pause();
    if (brief) end();
  }
  ~Child() { end(); }
  void end() {
    if (ended_) return;
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
    ended_ = true;
  }
  std::uint64_t pid() const { return static_cast<std::uint64_t>(pid_); }

 private:
  const pid_t pid_;
  bool ended_ = false;
};

// A child has at first what its parent has, at the same places.
class ProcessMemoryTest : public ::testing::Test {
 protected:
  ProcessName name(std::uint64_t pid) const { return {pid, address_of(&word_), kWord}; }
  ProcessName self() const { return name(static_cast<std::uint64_t>(getpid())); }

  std::uint64_t word_ = kWord;
  std::vector<char> bytes_ = std::vector<char>(100000, 'o');
};

TEST_F(ProcessMemoryTest, OfAnotherProcess) {
  Child child;
  const Result<ProcessMemory> memory = ProcessMemory::open(name(child.pid()));
  ASSERT_TRUE(memory.ok()) << memory.status().message();
  const std::uint64_t there = address_of(bytes_.data());
  std::vector<char> here(bytes_.size(), 'n'), back(bytes_.size());
  // Several runs here, which are one there.
  const std::vector<Segment> runs{{here.data(), 5000}, {here.data(), 0}, {here.data(), 40001}};
  ASSERT_TRUE(memory->write(there + 3, {runs.data(), runs.size()}).ok());
  EXPECT_EQ(bytes_, std::vector<char>(bytes_.size(), 'o')) << "it was written here";
  const std::vector<Segment> places{{back.data() + 70000, 30000}, {back.data(), 70000}};
  ASSERT_TRUE(memory->read(there, {places.data(), places.size()}).ok());
  std::string read(back.data() + 70000, 30000);
  read.append(back.data(), 70000);
  EXPECT_EQ(read, std::string(3, 'o') + std::string(45001, 'n') +
                      std::string(bytes_.size() - 45004, 'o'));
}

TEST_F(ProcessMemoryTest, NothingAfterItsEnd) {
  Child child;
  const Result<ProcessMemory> memory = ProcessMemory::open(name(child.pid()));
  ASSERT_TRUE(memory.ok()) << memory.status().message();
  const Segment run{bytes_.data(), bytes_.size()};
  child.end();
  EXPECT_EQ(memory->read(address_of(bytes_.data()), {&run, 1}).code(), StatusCode::kPeerFailed);
  EXPECT_EQ(memory->write(address_of(bytes_.data()), {&run, 1}).code(), StatusCode::kPeerFailed);
}

TEST_F(ProcessMemoryTest, WhoIsNotThereIsNotOpened) {
  const Child child(/*brief=*/true);
  const Status why = ProcessMemory::open(name(child.pid())).status();
  EXPECT_EQ(why.code(), StatusCode::kPeerFailed);
  EXPECT_NE(why.message().find(std::strerror(ENOENT)), std::string_view::npos) << why.message();
}

TEST_F(ProcessMemoryTest, NorWhoHasNotTheWord) {
  word_ ^= 1;
  EXPECT_EQ(ProcessMemory::open(self()).status().code(), StatusCode::kPeerFailed);
  EXPECT_EQ(word_, kWord ^ 1) << "it was written";
}

TEST_F(ProcessMemoryTest, NorWhoseWordCannotBeWritten) {
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  // Shared and without leave to write, since the kernel gives a copy of what is private.
  FILE* const file = std::tmpfile();
  ASSERT_EQ(fwrite(&kWord, sizeof(kWord), 1, file), 1u);
  ASSERT_EQ(fflush(file), 0);
  void* const mapped = mmap(nullptr, page, PROT_READ, MAP_SHARED, fileno(file), 0);
  ASSERT_NE(mapped, MAP_FAILED);
  ProcessName process = self();
  process.address = address_of(mapped);
  EXPECT_EQ(ProcessMemory::open(process).status().code(), StatusCode::kPeerFailed);
  munmap(mapped, page);
  std::fclose(file);
}

TEST_F(ProcessMemoryTest, AWordThatIsNowhere) {
  ProcessName process = self();
  process.address = 8;
  EXPECT_EQ(ProcessMemory::open(process).status().code(), StatusCode::kPeerFailed);
}

TEST_F(ProcessMemoryTest, MemoryThatEndsInTheMiddle) {
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  char* const mapped = static_cast<char*>(
      mmap(nullptr, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(mapped, MAP_FAILED);
  munmap(mapped + page, page);
  const Result<ProcessMemory> memory = ProcessMemory::open(self());
  ASSERT_TRUE(memory.ok()) << memory.status().message();
  const Segment run{bytes_.data(), 200};
  EXPECT_TRUE(memory->write(address_of(mapped + page - 200), {&run, 1}).ok());
  EXPECT_EQ(memory->write(address_of(mapped + page - 100), {&run, 1}).code(),
            StatusCode::kPeerFailed);
  EXPECT_EQ(memory->read(address_of(mapped + page - 100), {&run, 1}).code(),
            StatusCode::kPeerFailed);
  munmap(mapped, page);
}

}  // namespace
}  // namespace mad
