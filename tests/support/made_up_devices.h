// MadeUpDevices: a directory of a test's that stands for /, with what Linux lists of RDMA devices.
#ifndef TESTS_SUPPORT_MADE_UP_DEVICES_H_
#define TESTS_SUPPORT_MADE_UP_DEVICES_H_

#include <filesystem>
#include <fstream>
#include <string>

#include "gtest/gtest.h"

namespace mad::test {

class MadeUpDevices {
 public:
  MadeUpDevices() { std::filesystem::create_directories(root); }
  ~MadeUpDevices() { std::filesystem::remove_all(root); }
  MadeUpDevices(const MadeUpDevices&) = delete;
  MadeUpDevices& operator=(const MadeUpDevices&) = delete;

  /// A file with one line, and the directories on the way to it.
  void file(const std::string& path, const std::string& line) const {
    const std::filesystem::path there = root + path;
    std::filesystem::create_directories(there.parent_path());
    std::ofstream(there) << line << "\n";
  }
  /// `port` as in "mlx5_0/ports/1"; a state as Linux writes it, "4: ACTIVE".
  void port(const std::string& port, const std::string& state,
            const std::string& link_layer = "Ethernet") const {
    file(kDevices + port + "/state", state);
    file(kDevices + port + "/link_layer", link_layer);
    file(kDevices + port + "/rate", "100 Gb/sec (4X EDR)");
  }
  /// The port's address of that index.
  void address(const std::string& port, int index, const std::string& interface,
               const std::string& type, const std::string& gid) const {
    const std::string number = "/" + std::to_string(index);
    file(kDevices + port + "/gid_attrs/ndevs" + number, interface);
    file(kDevices + port + "/gid_attrs/types" + number, type);
    file(kDevices + port + "/gids" + number, gid);
  }
  /// IP over InfiniBand, or what else is the same hardware.
  void interface(const std::string& device, const std::string& name) const {
    std::filesystem::create_directories(root + kDevices + device + "/device/net/" + name);
  }
  /// The files by which the kernel is asked.
  void nodes(const std::string& device, const std::string& node = "uverbs0") const {
    file("/sys/class/infiniband_verbs/" + node + "/ibdev", device);
    file("/dev/infiniband/" + node, "");
    file("/dev/infiniband/rdma_cm", "");
  }
  /// A RoCE device that nothing is wrong with, on a network interface.
  void healthy(const std::string& device, const std::string& on) const {
    port(device + "/ports/1", "4: ACTIVE");
    address(device + "/ports/1", 1, on, "RoCE v2", kIpv4);
    nodes(device);
  }

  static constexpr const char* kIpv4 = "0000:0000:0000:0000:0000:ffff:0a4d:0001";
  static constexpr const char* kLocal = "fe80:0000:0000:0000:fcef:2cff:fe53:aaaf";

  const std::string root = ::testing::TempDir() + "made_up_devices_" +
                           ::testing::UnitTest::GetInstance()->current_test_info()->name();

 private:
  inline static const std::string kDevices = "/sys/class/infiniband/";
};

}  // namespace mad::test

#endif  // TESTS_SUPPORT_MADE_UP_DEVICES_H_
