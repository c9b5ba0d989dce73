#include "src/commands/open_loads.h"

#include "src/base/plugin.h"
#include "src/commands/exit_status.h"
#include "src/commands/install_paths.h"

namespace gradsync {

Result<const LoadLibrary*> open_loads(const std::string& device) {
  if (device != "cpu")
    return Error{"cannot measure on", device, "this version has no kernels for GPUs", "--device cpu",
                 exit_status::kNothingUsable};
  const Result<void*> entry =
      open_plugin(find_install_paths().plugins / "libgradsync_loads.so", "libhwy1", kLoadLibraryName);
  if (!entry) return entry.error();
  return reinterpret_cast<LoadLibraryFunction>(*entry)();
}

}  // namespace gradsync
