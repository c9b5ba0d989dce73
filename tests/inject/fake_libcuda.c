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

// Events: each pair is 5.2 us apart and done when it is asked for the second time. FAKE_CUDA_CAPTURING: every stream is
// being captured. Events that were made are counted, so that a test can see that they are bounded.
typedef struct {
  int asked;
} fake_event;
int fake_cuda_events;

int cuCtxGetCurrent(void** context) {
  static int one;
  *context = &one;
  return 0;
}
int cuCtxGetDevice(int* device) { return *device = 0, 0; }
int cuCtxSynchronize(void) { return 0; }
int cuEventCreate(void** event, unsigned flags) {
  (void)flags;
  ++fake_cuda_events;
  *event = calloc(1, sizeof(fake_event));
  return *event == NULL;
}
int cuEventRecord(void* event, void* stream) {
  ((fake_event*)event)->asked = 0;
  return stream == (void*)0xbad ? 400 : 0;
}
int cuEventQuery(void* event) { return ((fake_event*)event)->asked++ == 0 ? 600 : 0; }
int cuEventElapsedTime(float* ms, void* first, void* last) {
  (void)first, (void)last;
  *ms = 0.0052f;
  return 0;
}
int cuStreamIsCapturing(void* stream, int* status) {
  (void)stream;
  *status = getenv("FAKE_CUDA_CAPTURING") != NULL;
  return 0;
}
int cuThreadExchangeStreamCaptureMode(int* mode) {
  static __thread int kept;
  const int before = kept;
  kept = *mode;
  *mode = before;
  return 0;
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
