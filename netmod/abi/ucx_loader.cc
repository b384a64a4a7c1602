#include <dlfcn.h>
#include <stdlib.h>

#include <cstring>
#include <filesystem>
#include <mutex>
#include <system_error>

#include "netmod/abi/ucx_plugin.h"

namespace mad {
namespace {

// UCX patches the C library's mmap(), munmap() and others as it is loaded, for fabrics that
// register memory.  Ours do not, and it asks nothing but the environment whether it may.
class WithoutMemoryHooks {
 public:
  WithoutMemoryHooks() : ours_(getenv(kMode) == nullptr) {
    if (ours_) (void)setenv(kMode, "none", 0);
  }
  ~WithoutMemoryHooks() {
    if (ours_) (void)unsetenv(kMode);
  }
  WithoutMemoryHooks(const WithoutMemoryHooks&) = delete;
  WithoutMemoryHooks& operator=(const WithoutMemoryHooks&) = delete;

 private:
  static constexpr const char* kMode = "UCX_MEM_MMAP_HOOK_MODE";
  bool ours_;
};

void* load(const std::string& path) {
  static std::mutex mutex;
  const std::lock_guard<std::mutex> lock(mutex);
  // The environment belongs to all threads: it is left alone where nothing is loaded any more.
  void* const loaded = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
  if (loaded != nullptr) return loaded;
  const WithoutMemoryHooks none;
  return dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
}

Status not_here(const std::string& why) {
  return {StatusCode::kNotFound, "the fabric ucx cannot be used here: " + why};
}

}  // namespace

Result<std::unique_ptr<Driver>> open_ucx_plugin(const UcxOptions& options,
                                                const std::string& path) {
  // Never closed: what it made is used until the process ends.
  void* const library = load(path);
  if (library == nullptr) return not_here(dlerror());
  const auto identity = reinterpret_cast<UcxIdentity>(dlsym(library, "mad_ucx_identity"));
  const auto open = reinterpret_cast<OpenUcx>(dlsym(library, "mad_ucx_open"));
  if (identity == nullptr || open == nullptr) return not_here(path + " is no library of libmad's");
  if (std::strcmp(identity(), driver_headers_digest()) != 0) {
    return not_here(path + " is of another build than libmad");
  }
  UcxOpened opened;
  open(options, &opened);
  return std::move(*opened);
}

Result<std::unique_ptr<Driver>> open_ucx_plugin(const UcxOptions& options) {
  Dl_info own{};
  std::error_code error;
  if (dladdr(reinterpret_cast<const void*>(&driver_headers_digest), &own) != 0 &&
      own.dli_fname != nullptr) {
    const auto beside = std::filesystem::path(own.dli_fname).replace_filename(kUcxLibrary);
    if (std::filesystem::exists(beside, error)) return open_ucx_plugin(options, beside.string());
  }
  return open_ucx_plugin(options, kUcxLibrary);
}

}  // namespace mad
