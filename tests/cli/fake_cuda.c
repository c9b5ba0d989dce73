/* A driver of GPUs that is there but of no use: FAKE_CUDA_VERSION is what it says it is for, FAKE_CUDA_INIT what cuInit
 * answers. The real CUDA runtime takes it for the driver. It shows no device. */
#include <stdlib.h>
#include <string.h>

static int number_of(const char* variable, int otherwise) {
  const char* text = getenv(variable);
  return text == NULL ? otherwise : atoi(text);
}

int cuInit(unsigned flags) {
  (void)flags;
  return number_of("FAKE_CUDA_INIT", 0);
}
int cuDriverGetVersion(int* version) {
  *version = number_of("FAKE_CUDA_VERSION", 1000000);
  return 0;
}
int cuDeviceGetCount(int* count) {
  *count = 0;
  return 0;
}
static int no_device(void) { return 100; }

int cuGetProcAddress_v2(const char* name, void** function, int version, unsigned long long flags, int* status) {
  (void)version;
  (void)flags;
  if (status != NULL) *status = 0;
  *function = (void*)no_device;
  if (strcmp(name, "cuInit") == 0) *function = (void*)cuInit;
  if (strcmp(name, "cuDriverGetVersion") == 0) *function = (void*)cuDriverGetVersion;
  if (strcmp(name, "cuDeviceGetCount") == 0) *function = (void*)cuDeviceGetCount;
  if (strcmp(name, "cuGetProcAddress") == 0) *function = (void*)cuGetProcAddress_v2;
  return 0;
}
int cuGetProcAddress(const char* name, void** function, int version, unsigned long long flags) {
  return cuGetProcAddress_v2(name, function, version, flags, NULL);
}
