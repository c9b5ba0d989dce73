#include "src/base/plugin.h"

#include <dlfcn.h>

namespace gradsync {
namespace {

std::string loader_text() {
  const char* text = ::dlerror();
  return text == nullptr ? "no reason given" : text;
}

}  // namespace

Result<void*> open_plugin(const std::filesystem::path& library, const std::string& package, const std::string& entry) {
  const auto refused = [&](const std::string& why, const std::string& hint) {
    return Error{"cannot load", library.string(), why, hint, 3};
  };
  std::error_code missing;
  if (!std::filesystem::exists(library, missing))
    return refused("it is not there: this program was built without it", "install " + package + " and build again");
  void* handle = ::dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) return refused(loader_text(), "install " + package);
  using Version = const char* (*)();
  // NOLINTNEXTLINE(bugprone-casting-through-void): dlsym gives functions as pointers to data
  const auto version = reinterpret_cast<Version>(::dlsym(handle, kPluginVersionName));
  void* found = ::dlsym(handle, entry.c_str());
  if (version == nullptr || found == nullptr) return refused("it is no plug-in of this program", "");
  if (std::string(version()) != GSD_VERSION)
    return refused(std::string("it is of version ") + version() + ", this program is " + GSD_VERSION,
                   "install them together");
  return found;
}

}  // namespace gradsync
