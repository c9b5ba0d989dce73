#include "collectors/fabric/open_backend.h"

#include <dlfcn.h>

#include <filesystem>

#include "collectors/fabric/nccl_backend.h"
#include "collectors/fabric/plugin.h"

namespace gradsync {
namespace {

namespace fs = std::filesystem;

std::string loader_text() {
  const char* text = ::dlerror();
  return text == nullptr ? "no reason given" : text;
}

Result<std::unique_ptr<FabricBackend>> load(const fs::path& library, const std::string& package) {
  std::error_code missing;
  if (!fs::exists(library, missing))
    return Error{"cannot load", library.string(), "it is not there: this program was built without it",
                 "install " + package + " and build again", 3};
  void* handle = ::dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) return Error{"cannot load", library.string(), loader_text(), "install " + package, 3};
  // NOLINTBEGIN(bugprone-casting-through-void): dlsym gives functions as pointers to data
  const auto version = reinterpret_cast<PluginVersionFunction>(::dlsym(handle, kPluginVersionName));
  const auto backend = reinterpret_cast<PluginBackendFunction>(::dlsym(handle, kPluginBackendName));
  // NOLINTEND(bugprone-casting-through-void)
  if (version == nullptr || backend == nullptr)
    return Error{"cannot load", library.string(), "it is no plug-in of this program", "", 3};
  if (std::string(version()) != GSD_VERSION)
    return Error{"cannot load", library.string(),
                 std::string("it is of version ") + version() + ", this program is " + GSD_VERSION,
                 "install them together", 3};
  std::unique_ptr<FabricBackend> made(backend());
  if (made == nullptr) return Error{"cannot load", library.string(), "no memory", "", 3};
  return made;
}

}  // namespace

std::string automatic_backend() { return nccl_has_devices() ? "nccl" : "gloo"; }

Result<std::unique_ptr<FabricBackend>> open_backend(const std::string& name, const std::string& plugins) {
  if (name == "gloo") return load(fs::path(plugins) / "libgradsync_gloo.so", "libgloo0");
  if (name == "nccl") return make_nccl_backend();
  return Error{"there is no backend", name, "", "--backend auto, nccl or gloo", 2};
}

}  // namespace gradsync
