#include "collectors/inject/cupti/api.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collectors/inject/mapped_libraries.h"
#include "src/spool_writer/old_glibc.h"

namespace gradsync::cupti {
namespace {

constexpr size_t kWhyBytes = 256;

// "…/libcudart.so.12.4.127" or "…/libcudart-8774224f.so.12.0.107" (wheels that carry a copy) → 12; 0 = not told.
uint32_t major_of(const char* path) {
  const char* so = strstr(path, ".so.");
  uint32_t major = 0;
  if (so == nullptr) return 0;
  for (const char* c = so + 4; *c >= '0' && *c <= '9' && major < 1000; ++c)
    major = major * 10 + static_cast<uint32_t>(*c - '0');
  return major;
}

// Of the driver: a CUPTI that is newer than it does not start.
uint32_t driver_major() {
  void* driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
  if (driver == nullptr) return 0;
  int version = 0;
  auto* get = reinterpret_cast<int (*)(int*)>(dlsym(driver, "cuDriverGetVersion"));
  return get != nullptr && get(&version) == 0 && version > 0 ? static_cast<uint32_t>(version) / 1000 : 0;
}

// The name by which a library of that CUDA is found; minor versions had names of their own before CUDA 12.
bool open_named(const char* folder, uint32_t major, void*& handle) {
  static constexpr const char* kOlder[] = {"11.8", "11.7", "11.6"};
  char path[kPathBytes];
  const uint32_t names = major == 11 ? 3 : 1;
  for (uint32_t i = 0; i < names && handle == nullptr; ++i) {
    char number[16];
    snprintf(number, sizeof number, "%u", major);
    const char* suffix = major == 11 ? kOlder[i] : number;
    const int length = snprintf(path, sizeof path, "%slibcupti.so.%s", folder, suffix);
    if (length > 0 && static_cast<size_t>(length) < sizeof path) handle = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
  }
  return handle != nullptr;
}

// Beside the CUDA runtime that the job uses: one toolkit, one wheel, one version.
bool open_beside_runtime(uint32_t& major, void*& handle) {
  char path[kPathBytes], folder[kPathBytes + 64];
  if (!find_library("libcudart", path, sizeof path)) return false;
  if (const uint32_t told = major_of(path)) major = told;
  char* slash = strrchr(path, '/');
  if (slash == nullptr) return false;
  slash[1] = 0;
  static constexpr const char* kPlaces[] = {"", "../../cuda_cupti/lib/", "../extras/CUPTI/lib64/"};
  for (const char* place : kPlaces) {
    snprintf(folder, sizeof folder, "%s%s", path, place);
    if (open_named(folder, major, handle)) return true;
  }
  return false;
}

void* open_library() {
  char path[kPathBytes];
  void* handle = nullptr;
  if (find_library("libcupti.so", path, sizeof path)) return dlopen(path, RTLD_LAZY | RTLD_NOLOAD);
  // Builds of PyTorch without a libcupti.so have one inside: a second copy beside it would be worse than none.
  if (find_library("libtorch_cuda.so", path, sizeof path)) return dlopen(path, RTLD_LAZY | RTLD_NOLOAD);
  const uint32_t driver = driver_major();
  uint32_t major = driver != 0 ? driver : 13;
  if (open_beside_runtime(major, handle)) return handle;
  for (; major >= 11; --major)
    if (open_named("", major, handle)) return handle;
  return nullptr;
}

template <typename Function>
void look_up(void* handle, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(handle, name));
}

bool is_framework(const char* /*path*/, const char* name, void* /*context*/) {
  static constexpr const char* kFrameworks[] = {"libtorch_cpu.so", "libtorch_cuda.so", "libkineto", "libtensorflow",
                                                "xla_extension"};
  for (const char* prefix : kFrameworks)
    if (strncmp(name, prefix, strlen(prefix)) == 0) return true;
  return false;
}

}  // namespace

const char* resolve(void* handle, Library& library, char* why) {
  Functions& call = library.call;
  look_up(handle, "cuptiGetVersion", call.get_version);
  look_up(handle, "cuptiGetTimestamp", call.get_timestamp);
  look_up(handle, "cuptiActivityEnable", call.enable);
  look_up(handle, "cuptiActivityDisable", call.disable);
  look_up(handle, "cuptiActivityRegisterCallbacks", call.register_callbacks);
  look_up(handle, "cuptiActivityGetNextRecord", call.get_next_record);
  look_up(handle, "cuptiActivityFlushAll", call.flush_all);
  look_up(handle, "cuptiActivityGetNumDroppedRecords", call.dropped_records);
  look_up(handle, "cuptiActivityRegisterTimestampCallback", call.register_timestamp_callback);
  look_up(handle, "cuptiSetThreadIdType", call.set_thread_id_type);
  look_up(handle, "cuptiGetThreadIdType", call.get_thread_id_type);
  look_up(handle, "cuptiActivityEnableRuntimeApi", call.enable_runtime_call);
  look_up(handle, "cuptiActivityEnableDriverApi", call.enable_driver_call);
  const bool complete = call.get_version != nullptr && call.get_timestamp != nullptr && call.enable != nullptr &&
                        call.disable != nullptr && call.register_callbacks != nullptr &&
                        call.get_next_record != nullptr && call.flush_all != nullptr && call.dropped_records != nullptr;
  if (!complete) return "CUPTI's activity interface is not to be found: too old, or hidden inside the framework";
  if (call.get_version(&library.version) != Statuses::success) return "libcupti does not tell its version";
  if (library.version < kOldestVersion || library.version > kNewestKnownVersion) {
    snprintf(why, kWhyBytes, "the layout of CUPTI %u's records is not known here: 17 (CUDA 11.6) to 13.x is",
             library.version);
    return why;
  }
  return nullptr;
}

const char* load_library(Library& library, char* why) {
  void* handle = open_library();
  if (handle == nullptr) return "no libcupti in the process, beside libcudart, or where the loader looks";
  library.handle = handle;
  if (const char* missing = resolve(handle, library, why)) return missing;
  if (!find_library("libcupti.so", library.path, sizeof library.path)) library.path[0] = 0;
  return nullptr;
}

// An interpreter may import one later.
bool has_profiling_framework() {
  return dlsym(RTLD_DEFAULT, "Py_IsInitialized") != nullptr || any_library(is_framework, nullptr);
}

}  // namespace gradsync::cupti
