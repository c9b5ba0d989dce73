#include "src/commands/open_loads.h"

#include "src/base/plugin.h"
#include "src/commands/exit_status.h"
#include "src/commands/install_paths.h"

namespace gradsync {

Result<const LoadLibrary*> open_loads(const std::string& device) {
  const bool cuda = device == "cuda";
  const auto refused = [&](const Error& error) {
    const std::string instead = cuda ? "; --device cpu needs no GPU" : "";
    return Error{"cannot measure on", device, error.message(), error.hint + instead, exit_status::kNothingUsable};
  };
  const Result<void*> entry =
      open_plugin(find_install_paths().plugins / (cuda ? "libgradsync_cuda_loads.so" : "libgradsync_loads.so"),
                  cuda ? "the CUDA toolkit (nvcc)" : "libhwy1", kLoadLibraryName);
  if (!entry) return refused(entry.error());
  const LoadLibrary* library = reinterpret_cast<LoadLibraryFunction>(*entry)();
  if (const Result<void> ready = library->ready(); !ready) return refused(ready.error());
  return library;
}

}  // namespace gradsync
