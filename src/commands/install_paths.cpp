#include "src/commands/install_paths.h"

#include <cstdlib>
#include <vector>

namespace gradsync {
namespace {

namespace fs = std::filesystem;

fs::path first_existing(const std::vector<fs::path>& candidates) {
  std::error_code error;
  for (const fs::path& candidate : candidates)
    if (fs::exists(candidate, error)) return fs::canonical(candidate, error);
  return candidates.front();
}

std::vector<fs::path> candidates(const char* variable, std::vector<fs::path> standard) {
  const char* chosen = std::getenv(variable);
  if (chosen != nullptr && *chosen != '\0') return {fs::path(chosen)};
  return standard;
}

}  // namespace

InstallPaths find_install_paths() {
  std::error_code error;
  const fs::path folder = fs::read_symlink("/proc/self/exe", error).parent_path();
  const fs::path installed = folder / ".." / "lib" / "gradsync-doctor";
  InstallPaths paths;
  paths.library =
      first_existing(candidates("GSD_LIBRARY_PATH", {installed / "libgradsync_inject.so",
                                                     folder / "collectors" / "inject" / "libgradsync_inject.so"}));
  const fs::path plugin = "libgradsync_loads.so";  // the one that every build has
  const char* chosen = std::getenv("GSD_PLUGIN_PATH");
  paths.plugins = chosen != nullptr && *chosen != '\0'
                      ? fs::path(chosen)
                      : first_existing({installed / plugin, folder / "plugins" / plugin}).parent_path();
  paths.torch_shim = first_existing(candidates("GSD_TORCH_SHIM", {installed / "torch", folder / "torch"}));
  return paths;
}

}  // namespace gradsync
