// A library with the interface of NVML: two GPUs, the second without NVLink. GSD_FAKE_NVML=broken: no driver.
// GSD_FAKE_NVML_SCRIPT: a file with one line for each look at the first GPU, the last of which stays:
//   sm_mhz reasons(hex) utilization power_mw ecc_errors xid(0: none) pids,comma
// `job` among the processes is the first child of the process that asks. Without it neither GPU tells any of this.
// Built with GSD_FAKE_NVML_OLD it has only the functions of an older library.
#include <unistd.h>

#include <cstdio>
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

#ifndef GSD_FAKE_NVML_OLD

namespace {

struct State {
  unsigned sm_mhz = 0, utilization = 0, power_mw = 0, xid = 0;
  unsigned long long reasons = 0, ecc = 0;
  char processes[128] = "";
};
State now;
int looks = 0;
bool xid_waits = false;

bool scripted(const Gpu* gpu) { return gpu == &gpus[0] && std::getenv("GSD_FAKE_NVML_SCRIPT") != nullptr; }

void next_line() {
  std::FILE* file = std::fopen(std::getenv("GSD_FAKE_NVML_SCRIPT"), "r");
  if (file == nullptr) return;
  char line[256];
  int number = 0;
  while (number <= looks && std::fgets(line, sizeof line, file) != nullptr) {
    State state;
    if (std::sscanf(line, "%u %llx %u %u %llu %u %127s", &state.sm_mhz, &state.reasons, &state.utilization,
                    &state.power_mw, &state.ecc, &state.xid, state.processes) < 6)
      break;
    now = state;
    xid_waits = number == looks && state.xid != 0;
    ++number;
  }
  std::fclose(file);
  ++looks;
}

unsigned first_child() {
  char path[64];
  std::snprintf(path, sizeof path, "/proc/self/task/%d/children", static_cast<int>(::getpid()));
  std::FILE* file = std::fopen(path, "r");
  unsigned pid = 0;
  if (file != nullptr && std::fscanf(file, "%u", &pid) != 1) pid = 0;
  if (file != nullptr) std::fclose(file);
  return pid;
}

}  // namespace

extern "C" {
int nvmlDeviceGetClockInfo(Gpu* gpu, int clock, unsigned* mhz) {
  if (!scripted(gpu)) return kNotSupported;
  if (clock == 1) next_line();  // the first question of a look
  *mhz = clock == 1 ? now.sm_mhz : 2600;
  return 0;
}
int nvmlDeviceGetMaxClockInfo(Gpu* gpu, int clock, unsigned* mhz) {
  *mhz = clock == 1 ? 2000 : 2600;
  return scripted(gpu) ? 0 : kNotSupported;
}
int nvmlDeviceGetCurrentClocksThrottleReasons(Gpu* gpu, unsigned long long* reasons) {
  *reasons = now.reasons;
  return scripted(gpu) ? 0 : kNotSupported;
}
int nvmlDeviceGetPowerUsage(Gpu* gpu, unsigned* mw) {
  *mw = now.power_mw;
  return scripted(gpu) ? 0 : kNotSupported;
}
int nvmlDeviceGetEnforcedPowerLimit(Gpu* gpu, unsigned* mw) {
  *mw = 700'000;
  return scripted(gpu) ? 0 : kNotSupported;
}
int nvmlDeviceGetTemperature(Gpu* gpu, int, unsigned* celsius) {
  *celsius = 71;
  return scripted(gpu) ? 0 : kNotSupported;
}
int nvmlDeviceGetUtilizationRates(Gpu* gpu, unsigned* rates) {
  rates[0] = now.utilization;
  rates[1] = 0;
  return scripted(gpu) ? 0 : kNotSupported;
}
int nvmlDeviceGetMemoryInfo(Gpu* gpu, unsigned long long* memory) {
  memory[0] = 80ull << 30;
  memory[2] = 60ull << 30;
  memory[1] = memory[0] - memory[2];
  return scripted(gpu) ? 0 : kNotSupported;
}
int nvmlDeviceGetTotalEccErrors(Gpu* gpu, int error, int, unsigned long long* count) {
  *count = error == 1 ? now.ecc : 0;
  return scripted(gpu) ? 0 : kNotSupported;
}
struct Process {
  unsigned pid;
  unsigned long long memory;
  unsigned instances[2];
};
int nvmlDeviceGetComputeRunningProcesses_v3(Gpu* gpu, unsigned* count, Process* processes) {
  if (!scripted(gpu)) return kNotSupported;
  *count = 0;
  for (const char* at = now.processes; *at != 0;) {
    const unsigned pid = std::strncmp(at, "job", 3) == 0 ? first_child() : static_cast<unsigned>(std::atoi(at));
    if (pid != 0) processes[(*count)++] = {pid, 1 << 20, {~0u, ~0u}};
    at += std::strcspn(at, ",");
    if (*at == ',') ++at;
  }
  return 0;
}
struct Field {
  unsigned field, scope;
  long long times[2];
  int type, status;
  unsigned long long value;
};
int nvmlDeviceGetFieldValues(Gpu* gpu, int count, Field* fields) {
  if (!scripted(gpu)) return kNotSupported;
  for (int i = 0; i < count; ++i) {
    const bool nvlink = fields[i].field == 138 || fields[i].field == 139;
    fields[i].status = nvlink && fields[i].scope == ~0u ? 0 : kNotSupported;
    fields[i].type = 3;
    fields[i].value = 1000ull * static_cast<unsigned>(looks);  // KiB
  }
  return 0;
}
int nvmlDeviceGetNvLinkVersion(Gpu*, unsigned, unsigned* version) {
  *version = 4;
  return 0;
}
int nvmlEventSetCreate(void** set) {
  static int room;
  *set = &room;
  return 0;
}
int nvmlEventSetFree(void*) { return 0; }
int nvmlDeviceRegisterEvents(Gpu* gpu, unsigned long long, void*) { return scripted(gpu) ? 0 : kNotSupported; }
struct Event {
  Gpu* device;
  unsigned long long type, data;
  unsigned instances[2];
};
int nvmlEventSetWait_v2(void*, Event* event, unsigned) {
  if (!xid_waits) return 10;  // timeout
  xid_waits = false;
  *event = {&gpus[0], 8, now.xid, {~0u, ~0u}};
  return 0;
}
}

#endif
