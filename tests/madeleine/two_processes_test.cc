// The example as two processes over TCP on the loopback interface, and with one of them killed.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "netmod/abi/mad.h"

extern char** environ;

namespace {

constexpr int kSeconds = 40;
constexpr const char* kFabric = "tcp";
constexpr const char* kInterface = "lo";

std::string scratch(const std::string& name) {
  const char* const directory = std::getenv("TEST_TMPDIR");
  const std::string where = directory != nullptr ? directory : "/tmp";
  return where + "/" + name + "." + std::to_string(getpid());
}

std::string contents(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream out;
  out << file.rdbuf();
  return out.str();
}

// One run of the example; killed if it is still there at the end.
class Example {
 public:
  Example(const std::string& role, const std::string& address_file)
      : output_(scratch("output." + role)) {
    std::vector<std::string> words = {"tests/madeleine/index_message", role, address_file, kFabric,
                                      kInterface};
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 1, output_.c_str(), O_CREAT | O_TRUNC | O_WRONLY,
                                     0600);
    posix_spawn_file_actions_adddup2(&actions, 1, 2);
    EXPECT_EQ(posix_spawn(&pid_, arguments[0], &actions, nullptr, arguments.data(), environ), 0)
        << "run from the workspace root, as the test runner does";
    posix_spawn_file_actions_destroy(&actions);
  }
  ~Example() {
    if (pid_ > 0) kill();
  }
  Example(const Example&) = delete;
  Example& operator=(const Example&) = delete;

  void kill() {
    ::kill(pid_, SIGKILL);
    ::waitpid(std::exchange(pid_, -1), nullptr, 0);
  }
  // The exit code; -1: it did not end in time.
  int wait() {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(kSeconds);
    int status = 0;
    while (::waitpid(pid_, &status, WNOHANG) == 0) {
      if (std::chrono::steady_clock::now() > deadline) return -1;
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    pid_ = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
  }
  std::string output() const { return contents(output_); }

 private:
  const std::string output_;
  pid_t pid_ = -1;
};

class Engine {
 public:
  Engine() {
    mad_config config;
    mad_config_init(&config);
    config.fabric = kFabric;
    config.interface = kInterface;
    EXPECT_EQ(mad_engine_open(&config, &engine_), MAD_SUCCESS) << mad_last_error();
  }
  ~Engine() { mad_engine_close(engine_); }
  mad_engine* get() { return engine_; }
  void publish(const std::string& path) {
    char address[MAD_ADDRESS_MAX];
    size_t size = sizeof(address);
    ASSERT_EQ(mad_engine_address(engine_, address, &size), MAD_SUCCESS);
    std::ofstream(path + ".draft", std::ios::binary)
        .write(address, static_cast<std::streamsize>(size));
    ASSERT_EQ(std::rename((path + ".draft").c_str(), path.c_str()), 0);
  }
  mad_peer* find(const std::string& path) {
    std::string address;
    for (int tries = 0; tries < kSeconds * 100 && address.empty(); ++tries) {
      address = contents(path);
      if (address.empty()) std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    mad_peer* peer = nullptr;
    EXPECT_EQ(mad_engine_peer(engine_, address.data(), address.size(), &peer), MAD_SUCCESS)
        << mad_last_error();
    return peer;
  }

 private:
  mad_engine* engine_ = nullptr;
};

TEST(TwoProcesses, TheExampleRuns) {
  const std::string address = scratch("address");
  Example receiver("receive", address);
  Example sender("send", address);
  EXPECT_EQ(receiver.wait(), 0) << receiver.output();
  EXPECT_EQ(sender.wait(), 0) << sender.output();
  EXPECT_EQ(receiver.output(), "received 5 blocks, sum 99900003\n");
  EXPECT_EQ(sender.output(), "200003 floats came back unchanged\n");
}

TEST(TwoProcesses, WrongUseIsTold) {
  Example nobody("juggle", scratch("nowhere"));
  EXPECT_EQ(nobody.wait(), 2);
  EXPECT_NE(nobody.output().find("usage:"), std::string::npos) << nobody.output();
}

TEST(TwoProcesses, AKilledSenderEndsTheUnpacking) {
  const std::string address = scratch("address.killed_sender");
  Engine engine;
  engine.publish(address);
  Example sender("send", address);
  mad_unpacking* message = nullptr;
  ASSERT_EQ(mad_begin_unpacking(engine.get(), kSeconds * 1000, nullptr, &message), MAD_SUCCESS);
  std::uint64_t count = 0;
  EXPECT_EQ(mad_unpack(message, &count, sizeof(count), MAD_SEND_SAFER, MAD_RECV_EXPRESS),
            MAD_SUCCESS);
  EXPECT_EQ(count, 5u);
  // It waits now until somebody takes its long blocks.
  sender.kill();
  const auto before = std::chrono::steady_clock::now();
  std::vector<std::uint64_t> lengths(5);
  std::vector<float> block(60000);
  int result = mad_unpack(message, lengths.data(), 40, MAD_SEND_CHEAPER, MAD_RECV_EXPRESS);
  if (result == MAD_SUCCESS) {
    result = mad_unpack(message, block.data(), block.size() * sizeof(float), MAD_SEND_CHEAPER,
                        MAD_RECV_EXPRESS);
  }
  EXPECT_EQ(result, MAD_ERR_PEER_FAILED) << mad_last_error();
  EXPECT_EQ(mad_end_unpacking(message), MAD_ERR_PEER_FAILED);
  EXPECT_LT(std::chrono::steady_clock::now() - before, std::chrono::seconds(20));
}

TEST(TwoProcesses, AKilledReceiverEndsThePacking) {
  const std::string address = scratch("address.killed_receiver");
  Example receiver("receive", address);
  Engine engine;
  mad_peer* const peer = engine.find(address);
  mad_packing* message = nullptr;
  ASSERT_EQ(mad_begin_packing(engine.get(), peer, &message), MAD_SUCCESS);
  std::uint64_t count = 5;
  std::vector<std::uint64_t> lengths(5, 1 << 20);
  std::vector<float> block(1 << 20);
  EXPECT_EQ(mad_pack(message, &count, 8, MAD_SEND_SAFER, MAD_RECV_EXPRESS), MAD_SUCCESS);
  EXPECT_EQ(mad_pack(message, lengths.data(), 40, MAD_SEND_SAFER, MAD_RECV_EXPRESS), MAD_SUCCESS);
  EXPECT_EQ(mad_peer_touch(engine.get(), peer), MAD_SUCCESS);
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(300);
  while (std::chrono::steady_clock::now() < deadline) mad_engine_progress(engine.get(), nullptr);
  receiver.kill();
  const int result = mad_pack(message, block.data(), block.size() * sizeof(float), MAD_SEND_SAFER,
                              MAD_RECV_CHEAPER);
  EXPECT_TRUE(result == MAD_ERR_PEER_FAILED || result == MAD_ERR_UNREACHABLE)
      << result << ": " << mad_last_error();
  EXPECT_EQ(mad_end_packing(message), result);
}

}  // namespace
