// A driver that starts, has no device, and loads CUDA_INJECTION64_PATH as the real one does: enough for the real
// libcudart to bring the injected library up. The limits are those of an H100's multiprocessor.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { NO_DEVICE = 100, NOT_SUPPORTED = 801 };

int cuInit(unsigned flags) {
  (void)flags;
  static int loaded;
  const char* path = getenv("CUDA_INJECTION64_PATH");
  if (loaded++ || path == NULL) return 0;
  void* library = dlopen(path, RTLD_NOW);
  int (*initialize)(void) = library == NULL ? NULL : (int (*)(void))dlsym(library, "InitializeInjection");
  if (initialize != NULL) initialize();
  return 0;
}

int cuDriverGetVersion(int* version) {
  const char* told = getenv("FAKE_CUDA_DRIVER");
  *version = told == NULL ? 13000 : atoi(told);
  return 0;
}

int cuDeviceGetCount(int* count) {
  *count = 0;
  return 0;
}

int cuDeviceGet(int* device, int ordinal) {
  (void)device, (void)ordinal;
  return NO_DEVICE;
}

int cuDeviceGetAttribute(int* value, int attribute, int device) {
  (void)device;
  static const int known[][2] = {{10, 32},     {16, 132},   {39, 2048}, {75, 9},    {76, 0},
                                 {81, 233472}, {82, 65536}, {106, 32},  {111, 1024}};
  for (size_t i = 0; i < sizeof known / sizeof known[0]; ++i)
    if (known[i][0] == attribute) return *value = known[i][1], 0;
  return 1;
}

static int not_supported(void) { return NOT_SUPPORTED; }

// The runtime gives up on a driver that lacks one of the hundreds of functions that it knows.
int cuGetProcAddress_v2(const char* name, void** function, int version, uint64_t flags, int* status) {
  (void)version, (void)flags;
  void* self = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
  *function = self == NULL ? NULL : dlsym(self, strcmp(name, "cuGetProcAddress") == 0 ? "cuGetProcAddress_v2" : name);
  if (*function == NULL) *function = (void*)not_supported;
  if (status != NULL) *status = 0;
  return 0;
}

int cuGetProcAddress(const char* name, void** function, int version, uint64_t flags) {
  return cuGetProcAddress_v2(name, function, version, flags, NULL);
}
