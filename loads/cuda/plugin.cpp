// libgradsync_cuda_loads.so: what it exports (src/base/plugin.h).
#include "loads/cuda/cuda_library.h"

extern "C" {

__attribute__((visibility("default"))) const char* gsd_plugin_version() { return GSD_VERSION; }

__attribute__((visibility("default"))) const gradsync::LoadLibrary* gsd_load_library() {
  return &gradsync::cuda::cuda_load_library();
}

}  // extern "C"
