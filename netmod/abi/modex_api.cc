// The C functions of start-up data: they check what the caller gave, then call Modex.
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "netmod/abi/errors.h"
#include "netmod/abi/mad.h"
#include "netmod/modex/modex.h"

namespace mad {
namespace {

/// The caller's functions.
class CallersLauncher final : public Launcher {
 public:
  explicit CallersLauncher(const mad_launcher& launcher)
      : launcher_(launcher), room_(launcher.value_length + 1) {}

  std::size_t value_length() const override { return launcher_.value_length; }

  Status put(const std::string& key, const std::string& value) override {
    return checked(launcher_.put(launcher_.context, key.c_str(), value.c_str()), "put " + key);
  }

  Result<std::string> get(int rank, const std::string& key) override {
    Status status =
        checked(launcher_.get(launcher_.context, rank, key.c_str(), room_.data(), room_.size()),
                "get " + key);
    if (!status.ok()) return status;
    return std::string(room_.data(), strnlen(room_.data(), room_.size()));
  }

  Status fence() override { return checked(launcher_.fence(launcher_.context), "fence"); }

  Result<std::vector<std::byte>> gather(const std::byte* own, std::size_t size) override {
    std::vector<std::byte> all(size * processes_of_node_);
    Status status =
        checked(launcher_.gather(launcher_.context, own, size, all.data()), "gather of the node");
    if (!status.ok()) return status;
    return all;
  }

  void set_processes_of_node(std::size_t number) { processes_of_node_ = number; }

 private:
  static Status checked(int result, const std::string& what) {
    if (result == 0) return {};
    return Status(StatusCode::kInternal, "start-up data: the launcher failed in " + what);
  }

  mad_launcher launcher_;
  std::vector<char> room_;
  std::size_t processes_of_node_ = 1;
};

}  // namespace
}  // namespace mad

struct mad_modex final {
  explicit mad_modex(const mad_launcher& functions) : launcher(functions) {}
  mad::CallersLauncher launcher;
  std::optional<mad::Modex> modex;
};

namespace {

using mad::fail;
using mad::guarded;

int null_argument(const char* function, const char* what) {
  return fail(MAD_ERR_ARGUMENT, std::string(function) + ": " + what + " is NULL");
}

bool is_whole(const mad_launcher& launcher) {
  return launcher.put != nullptr && launcher.get != nullptr && launcher.fence != nullptr &&
         launcher.gather != nullptr;
}

mad::ModexBytes bytes_of(const void* data, std::size_t size) {
  const auto* const begin = static_cast<const std::byte*>(data);
  return size == 0 ? mad::ModexBytes() : mad::ModexBytes(begin, begin + size);
}

using Send = mad::Status (mad::Modex::*)(std::uint32_t, mad::ModexBytes);
using Receive = mad::Result<mad::ModexBytes> (mad::Modex::*)(int, std::uint32_t);

int send(const char* function, mad_modex* modex, Send way, std::uint32_t name, const void* data,
         std::size_t size) {
  return guarded([&]() -> int {
    if (modex == nullptr) return null_argument(function, "modex");
    if (data == nullptr && size > 0) return null_argument(function, "data");
    return mad::to_abi(((*modex->modex).*way)(name, bytes_of(data, size)));
  });
}

int receive(const char* function, mad_modex* modex, Receive way, int rank, std::uint32_t name,
            void* data, std::size_t* size) {
  return guarded([&]() -> int {
    if (modex == nullptr) return null_argument(function, "modex");
    if (data == nullptr) return null_argument(function, "data");
    if (size == nullptr) return null_argument(function, "size");
    const auto received = ((*modex->modex).*way)(rank, name);
    if (!received.ok()) return mad::to_abi(received.status());
    if (received->size() > *size) {
      return fail(MAD_ERR_ARGUMENT, std::string(function) + ": the data has " +
                                        std::to_string(received->size()) + " bytes, the room " +
                                        std::to_string(*size));
    }
    if (!received->empty()) std::memcpy(data, received->data(), received->size());
    *size = received->size();
    return MAD_SUCCESS;
  });
}

}  // namespace

extern "C" int mad_modex_open(const mad_modex_config* config, mad_modex** out) {
  return guarded([&]() -> int {
    if (config == nullptr) return null_argument("mad_modex_open", "config");
    if (out == nullptr) return null_argument("mad_modex_open", "out");
    if (config->nodes == nullptr) return null_argument("mad_modex_open", "nodes");
    if (!is_whole(config->launcher)) return null_argument("mad_modex_open", "a function");
    auto made = std::make_unique<mad_modex>(config->launcher);
    auto modex = mad::Modex::open({config->rank, config->size, config->nodes, config->epoch},
                                  &made->launcher);
    if (!modex.ok()) return mad::to_abi(modex.status());
    made->modex.emplace(std::move(*modex));
    made->launcher.set_processes_of_node(made->modex->processes_of_node());
    *out = made.release();
    return MAD_SUCCESS;
  });
}

extern "C" void mad_modex_close(mad_modex* modex) { delete modex; }

extern "C" int mad_modex_register(mad_modex* modex, const char* name, uint32_t* hash) {
  return guarded([&]() -> int {
    if (modex == nullptr) return null_argument("mad_modex_register", "modex");
    if (name == nullptr) return null_argument("mad_modex_register", "name");
    if (hash == nullptr) return null_argument("mad_modex_register", "hash");
    const auto added = modex->modex->add_name(name);
    if (!added.ok()) return mad::to_abi(added.status());
    *hash = *added;
    return MAD_SUCCESS;
  });
}

extern "C" int mad_modex_proc_send(mad_modex* modex, uint32_t name, const void* data, size_t size) {
  return send("mad_modex_proc_send", modex, &mad::Modex::send_process, name, data, size);
}

extern "C" int mad_modex_node_send(mad_modex* modex, uint32_t name, const void* data, size_t size) {
  return send("mad_modex_node_send", modex, &mad::Modex::send_node, name, data, size);
}

extern "C" int mad_modex_exchange(mad_modex* modex) {
  return guarded([&]() -> int {
    if (modex == nullptr) return null_argument("mad_modex_exchange", "modex");
    return mad::to_abi(modex->modex->exchange());
  });
}

extern "C" int mad_modex_proc_receive(mad_modex* modex, int rank, uint32_t name, void* data,
                                      size_t* size) {
  return receive("mad_modex_proc_receive", modex, &mad::Modex::receive_process, rank, name, data,
                 size);
}

extern "C" int mad_modex_node_receive(mad_modex* modex, int rank, uint32_t name, void* data,
                                      size_t* size) {
  return receive("mad_modex_node_receive", modex, &mad::Modex::receive_node, rank, name, data,
                 size);
}

extern "C" int mad_modex_agree(mad_modex* modex, uint32_t name, mad_modex_agreement agree,
                               int* all) {
  return guarded([&]() -> int {
    if (modex == nullptr) return null_argument("mad_modex_agree", "modex");
    if (agree == nullptr) return null_argument("mad_modex_agree", "agree");
    if (all == nullptr) return null_argument("mad_modex_agree", "all");
    const auto agreed =
        modex->modex->agree(name, [&](const mad::ModexBytes& one, const mad::ModexBytes& other) {
          return agree(one.data(), one.size(), other.data(), other.size()) != 0;
        });
    if (!agreed.ok()) return mad::to_abi(agreed.status());
    *all = *agreed ? 1 : 0;
    return MAD_SUCCESS;
  });
}
