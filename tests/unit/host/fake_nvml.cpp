// A library with the interface of NVML: two GPUs, the second without NVLink. GSD_FAKE_NVML=broken: no driver.
#include <cstdlib>
#include <cstring>

namespace {

struct Gpu {
  const char* address;
  const char* name;
  unsigned generation, max_generation, width, max_width, links, active;
};
Gpu gpus[] = {{"00000000:1B:00.0", "NVIDIA Example 80GB", 1, 5, 16, 16, 4, 3},
              {"0001:C1:00.0", "NVIDIA Example PCIe", 4, 4, 8, 16, 0, 0}};
constexpr int kNotSupported = 3, kNoDriver = 9;

}  // namespace

extern "C" {
int nvmlInit_v2() {
  const char* mode = std::getenv("GSD_FAKE_NVML");
  return mode != nullptr && std::strcmp(mode, "broken") == 0 ? kNoDriver : 0;
}
int nvmlShutdown() { return 0; }
const char* nvmlErrorString(int status) { return status == kNoDriver ? "Driver Not Loaded" : "other"; }
int nvmlDeviceGetCount_v2(unsigned* count) {
  *count = 2;
  return 0;
}
int nvmlDeviceGetHandleByIndex_v2(unsigned index, Gpu** device) {
  *device = &gpus[index];
  return 0;
}
struct PciInfo {
  char legacy[16];
  unsigned numbers[5];
  char bus_id[32];
};
int nvmlDeviceGetPciInfo_v3(Gpu* gpu, PciInfo* info) {
  std::strcpy(info->bus_id, gpu->address);
  return 0;
}
int nvmlDeviceGetName(Gpu* gpu, char* name, unsigned length) {
  std::strncpy(name, gpu->name, length);
  return 0;
}
int nvmlDeviceGetNvLinkState(Gpu* gpu, unsigned link, unsigned* active) {
  if (link >= gpu->links) return kNotSupported;
  *active = link < gpu->active ? 1 : 0;
  return 0;
}
int nvmlDeviceGetCurrPcieLinkGeneration(Gpu* gpu, unsigned* value) {
  *value = gpu->generation;
  return 0;
}
int nvmlDeviceGetMaxPcieLinkGeneration(Gpu* gpu, unsigned* value) {
  *value = gpu->max_generation;
  return 0;
}
int nvmlDeviceGetCurrPcieLinkWidth(Gpu* gpu, unsigned* value) {
  *value = gpu->width;
  return 0;
}
int nvmlDeviceGetMaxPcieLinkWidth(Gpu* gpu, unsigned* value) {
  *value = gpu->max_width;
  return 0;
}
}
