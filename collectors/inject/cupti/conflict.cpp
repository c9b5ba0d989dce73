#include "collectors/inject/cupti/conflict.h"

#include <stdlib.h>
#include <string.h>

#include "collectors/inject/mapped_libraries.h"
#include "src/spool_writer/kernel.h"

namespace gradsync::cupti {
namespace {

struct Sign {
  const char* what;  // beginning of a library's file name, or a variable
  const char* tool;
};
constexpr Sign kLibraries[] = {
    {"libToolsInjection", "Nsight Systems"},
    {"libcuda-injection", "Nsight Compute"},
    {"libInterceptorInjectionTarget", "Nsight Compute"},
    {"libTreeLauncherTargetInjection", "Nsight Compute"},
    {"libsanitizer-collection", "compute-sanitizer"},
    {"libcudadebugger", "cuda-gdb"},
};
constexpr Sign kVariables[] = {
    {"NSYS_PROFILING_SESSION_ID", "Nsight Systems"},
    {"NV_COMPUTE_PROFILER_PERFWORKS_DIR", "Nsight Compute"},
    {"NV_SANITIZER_INJECTION_PORT_RANGE_BEGIN", "compute-sanitizer"},
};

bool is_tool(const char* /*path*/, const char* name, void* found) {
  for (const Sign& sign : kLibraries) {
    if (strncmp(name, sign.what, strlen(sign.what)) != 0) continue;
    *static_cast<const char**>(found) = sign.tool;
    return true;
  }
  return false;
}

// TracerPid of /proc/self/status: "TracerPid:\t0".
bool is_traced() {
  char text[4096];
  const int file = spool::open_file("/proc/self/status", O_RDONLY | O_CLOEXEC);
  if (file < 0) return false;
  const long bytes = spool::read_file(file, text, sizeof text - 1);
  spool::close_file(file);
  if (bytes <= 0) return false;
  text[bytes] = 0;
  const char* line = strstr(text, "TracerPid:\t");
  return line != nullptr && line[strlen("TracerPid:\t")] != '0';
}

}  // namespace

const char* other_tool() {
  const char* found = nullptr;
  if (any_library(is_tool, &found)) return found;
  for (const Sign& sign : kVariables)
    if (secure_getenv(sign.what) != nullptr) return sign.tool;
  return is_traced() ? "a debugger" : nullptr;
}

}  // namespace gradsync::cupti
