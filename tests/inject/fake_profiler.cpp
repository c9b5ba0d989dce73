// See fake_profiler.h. The structs are ours: tests/unit/inject holds them against the vendor's.
#include "tests/inject/fake_profiler.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <initializer_list>

#include "collectors/inject/abi/cupti_profiler_abi.h"

using namespace gradsync::cupti;

// One at a time, and only one ever.
struct gradsync::cupti::RangeProfilerObject {
  bool configured, started;
  RangeConfig config;
};
struct gradsync::cupti::HostObject {
  char names[32][128];
  size_t count;
};

namespace {

constexpr size_t kDataBytes = 8192, kConfigBytes = 64;
struct Data {  // what our counter data image holds
  size_t kernels, dropped;
  double ns[64];
};
struct Config {
  size_t passes;
};
RangeProfilerObject g_object;
bool g_enabled, g_initialized;
Data g_seen;

[[noreturn]] void die(const char* why, const char* what = "") {
  fprintf(stderr, "fake profiler: %s %s\n", why, what);
  abort();
}

int scripted(const char* call) {
  static const pid_t process = getpid();
  if (process != getpid()) die("called in a forked child");
  const char* text = getenv("FAKE_PROFILER_ERROR");
  const size_t length = strlen(call);
  return text != nullptr && strncmp(text, call, length) == 0 && text[length] == ':' ? atoi(text + length + 1) : 0;
}

template <typename Parameters>
int entered(const Parameters* given, const char* call) {
  if (given->size != kTold<Parameters>) die("a struct of a wrong size");
  return scripted(call);
}

bool is(const char* variable, const char* name) {
  const char* text = getenv(variable);
  return text != nullptr && strcmp(text, name) == 0;
}

}  // namespace

extern "C" {
int cuptiProfilerInitialize(ProfilerInitialize* given) {
  if (const int error = entered(given, "initialize")) return error;
  g_initialized = true;
  return 0;
}
int cuptiProfilerDeInitialize(ProfilerInitialize* given) {
  if (const int error = entered(given, "deinitialize")) return error;
  if (!g_initialized || g_enabled) die("the end without a beginning, or while it is on");
  g_initialized = false;
  return 0;
}
int cuptiProfilerDeviceSupported(DeviceSupported* given) {
  if (const int error = entered(given, "supported")) return error;
  for (int32_t* one : {&given->supported, &given->architecture, &given->sli, &given->vgpu, &given->confidential,
                       &given->mining, &given->wsl})
    *one = kSupported;
  return 0;
}
int cuptiDeviceGetChipName(ChipName* given) {
  if (const int error = entered(given, "chip")) return error;
  given->name = "GH100";
  return 0;
}
int cuptiProfilerGetCounterAvailability(CounterAvailability* given) {
  if (const int error = entered(given, "availability")) return error;
  if (given->image == nullptr) given->image_bytes = 100;
  return 0;
}
int cuptiProfilerHostInitialize(HostInitialize* given) {
  if (const int error = entered(given, "host")) return error;
  given->host = new HostObject{};
  return strcmp(given->chip, "GH100") == 0 ? 0 : Statuses::invalid_chip_name;
}
int cuptiProfilerHostDeinitialize(HostDeinitialize* given) {
  if (const int error = entered(given, "host_end")) return error;
  delete given->host;
  return 0;
}
int cuptiProfilerHostConfigAddMetrics(HostMetrics* given) {
  if (const int error = entered(given, "add")) return error;
  for (size_t i = 0; i < given->count; ++i) {
    if (is("FAKE_PROFILER_UNKNOWN", given->names[i])) return Statuses::invalid_parameter;
    snprintf(given->host->names[given->host->count++], 128, "%s", given->names[i]);
  }
  return 0;
}
int cuptiProfilerHostGetConfigImageSize(HostImageSize* given) {
  if (const int error = entered(given, "image_size")) return error;
  given->bytes = kConfigBytes;
  return 0;
}
int cuptiProfilerHostGetConfigImage(HostImage* given) {
  if (const int error = entered(given, "image")) return error;
  Config config{1};
  for (size_t i = 0; i < given->host->count; ++i)
    if (is("FAKE_PROFILER_PASSES", given->host->names[i])) config.passes = 2;
  memcpy(given->image, &config, sizeof config);
  return 0;
}
int cuptiProfilerHostGetNumOfPasses(HostPasses* given) {
  if (const int error = entered(given, "passes")) return error;
  given->passes = reinterpret_cast<const Config*>(given->image)->passes;
  return 0;
}
// A value for each metric: the duration as it was, a share of 10 % times its place among the names.
int cuptiProfilerHostEvaluateToGpuValues(HostEvaluate* given) {
  if (const int error = entered(given, "evaluate")) return error;
  const auto* data = reinterpret_cast<const Data*>(given->data);
  if (given->range >= data->kernels) die("a kernel that was not seen is evaluated");
  for (size_t i = 0; i < given->count; ++i)
    given->values[i] = strcmp(given->names[i], "gpu__time_duration.sum") == 0 ? data->ns[given->range]
                                                                              : 10.0 * static_cast<double>(i) + 0.25;
  return 0;
}
int cuptiRangeProfilerEnable(RangeEnable* given) {
  if (const int error = entered(given, "enable")) return error;
  if (g_enabled || !g_initialized || given->context == nullptr) die("on twice, or out of order");
  g_enabled = true;
  g_object = {};
  given->profiler = &g_object;
  return 0;
}
int cuptiRangeProfilerDisable(RangeCall* given) {
  if (const int error = entered(given, "disable")) return error;
  if (!g_enabled || given->profiler != &g_object) die("off without being on");
  g_enabled = false;
  g_object.started = false;
  return 0;
}
int cuptiRangeProfilerGetCounterDataSize(RangeDataSize* given) {
  if (const int error = entered(given, "data_size")) return error;
  if (given->count == 0 || given->ranges > 64) die("no metrics, or too many kernels");
  given->bytes = kDataBytes;
  return 0;
}
int cuptiRangeProfilerCounterDataImageInitialize(RangeDataInitialize* given) {
  if (const int error = entered(given, "data")) return error;
  if (given->bytes != kDataBytes) die("another size");
  return 0;
}
int cuptiRangeProfilerSetConfig(RangeConfig* given) {
  if (const int error = entered(given, "config")) return error;
  if (given->range != kRangePerKernel || given->replay != kReplayByCaller) die("kernels could run again");
  if (given->pass != 0 || given->nesting_level != 1 || given->least_nesting_level != 1) die("a pass more");
  if (reinterpret_cast<const Config*>(given->config)->passes != 1) die("more than one pass");
  g_object.configured = true;
  g_object.config = *given;
  return 0;
}
int cuptiRangeProfilerStart(RangeCall* given) {
  if (const int error = entered(given, "start")) return error;
  if (!g_object.configured) die("no configuration");
  g_seen = {};
  g_object.started = true;
  return 0;
}
int cuptiRangeProfilerStop(RangeStop* given) {
  if (const int error = entered(given, "stop")) return error;
  if (!g_object.started) die("stopped twice");
  g_object.started = false;
  given->all_passes = 1;
  return 0;
}
int cuptiRangeProfilerDecodeData(RangeDecode* given) {
  if (const int error = entered(given, "decode")) return error;
  memcpy(g_object.config.data, &g_seen, sizeof g_seen);
  given->dropped = g_seen.dropped;
  return 0;
}
int cuptiRangeProfilerGetCounterDataInfo(RangeDataInfo* given) {
  if (const int error = entered(given, "info")) return error;
  given->ranges = reinterpret_cast<const Data*>(given->data)->kernels;
  return 0;
}

void fake_profiler_launch(const char* name, double ns) {
  if (!g_enabled) return;
  if (strstr(name, "nccl") != nullptr) die("a kernel of NCCL while the profiler is on:", name);
  if (!g_object.started) return;
  if (g_seen.kernels == 64)
    ++g_seen.dropped;
  else
    g_seen.ns[g_seen.kernels++] = ns;
}
}  // extern "C"
