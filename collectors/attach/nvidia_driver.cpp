#include "collectors/attach/nvidia_driver.h"

#include <dlfcn.h>

namespace gradsync {

int nvidia_driver_version() {
  void* driver = ::dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL);
  if (driver == nullptr) return 0;
  int version = 0;
  const auto get = reinterpret_cast<int (*)(int*)>(::dlsym(driver, "cuDriverGetVersion"));
  if (get == nullptr || get(&version) != 0) version = 0;
  ::dlclose(driver);
  return version;
}

void note_missing_driver(Coverage& coverage) {
  if (nvidia_driver_version() != 0) return;
  coverage.reason += "; here NCCL cannot start: no NVIDIA driver (libcuda.so.1)";
  if (coverage.hint.empty()) coverage.hint = kDriverHint;
}

}  // namespace gradsync
