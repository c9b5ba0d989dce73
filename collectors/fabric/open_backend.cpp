#include "collectors/fabric/open_backend.h"

#include <filesystem>

#include "collectors/fabric/nccl_backend.h"
#include "src/base/plugin.h"

namespace gradsync {
namespace {

Result<std::unique_ptr<FabricBackend>> load(const std::filesystem::path& library, const std::string& package) {
  const Result<void*> entry = open_plugin(library, package, kBackendName);
  if (!entry) return entry.error();
  std::unique_ptr<FabricBackend> made(reinterpret_cast<MakeBackendFunction>(*entry)());
  if (made == nullptr) return Error{"cannot load", library.string(), "no memory", "", 3};
  return made;
}

}  // namespace

std::string automatic_backend() { return nccl_has_devices() ? "nccl" : "gloo"; }

Result<std::unique_ptr<FabricBackend>> open_backend(const std::string& name, const std::string& plugins) {
  if (name == "gloo") return load(std::filesystem::path(plugins) / "libgradsync_gloo.so", "libgloo0");
  if (name == "nccl") return make_nccl_backend();
  return Error{"there is no backend", name, "", "--backend auto, nccl or gloo", 2};
}

}  // namespace gradsync
