#include "collectors/inject/cupti/metrics.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/spool_writer/old_glibc.h"

namespace gradsync::cupti {
namespace {

template <typename Function>
void look_up(void* library, const char* name, Function& function, const char*& missing) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  if (function == nullptr && missing == nullptr) missing = name;
}

}  // namespace

const char* find_profiler(void* library, ProfilerFunctions& call) {
  const char* missing = nullptr;
  look_up(library, "cuptiProfilerInitialize", call.initialize, missing);
  look_up(library, "cuptiProfilerDeInitialize", call.deinitialize, missing);
  look_up(library, "cuptiProfilerDeviceSupported", call.device_supported, missing);
  look_up(library, "cuptiDeviceGetChipName", call.chip_name, missing);
  look_up(library, "cuptiProfilerGetCounterAvailability", call.counter_availability, missing);
  look_up(library, "cuptiProfilerHostInitialize", call.host_initialize, missing);
  look_up(library, "cuptiProfilerHostDeinitialize", call.host_deinitialize, missing);
  look_up(library, "cuptiProfilerHostConfigAddMetrics", call.host_add_metrics, missing);
  look_up(library, "cuptiProfilerHostGetConfigImageSize", call.host_image_size, missing);
  look_up(library, "cuptiProfilerHostGetConfigImage", call.host_image, missing);
  look_up(library, "cuptiProfilerHostGetNumOfPasses", call.host_passes, missing);
  look_up(library, "cuptiProfilerHostEvaluateToGpuValues", call.host_evaluate, missing);
  look_up(library, "cuptiRangeProfilerEnable", call.enable, missing);
  look_up(library, "cuptiRangeProfilerDisable", call.disable, missing);
  look_up(library, "cuptiRangeProfilerGetCounterDataSize", call.data_size, missing);
  look_up(library, "cuptiRangeProfilerCounterDataImageInitialize", call.data_initialize, missing);
  look_up(library, "cuptiRangeProfilerSetConfig", call.set_config, missing);
  look_up(library, "cuptiRangeProfilerStart", call.start, missing);
  look_up(library, "cuptiRangeProfilerStop", call.stop, missing);
  look_up(library, "cuptiRangeProfilerDecodeData", call.decode, missing);
  look_up(library, "cuptiRangeProfilerGetCounterDataInfo", call.data_info, missing);
  return missing;
}

void MetricSet::parse(const char* names) {
  wanted_[wanted_count_++] = kDuration;
  size_t used = 0;
  while (*names != 0) {
    const char* comma = strchr(names, ',');
    const size_t length = comma == nullptr ? strlen(names) : static_cast<size_t>(comma - names);
    if (used + length + 1 > sizeof text_) return refuse("more names", "no room");
    char* name = text_ + used;
    memcpy(name, names, length);
    name[length] = 0;
    names += length + (comma == nullptr ? 0 : 1);
    if (length == 0 || strcmp(name, kDuration) == 0) continue;
    used += length + 1;
    if (wanted_count_ == kMost)
      refuse(name, "there are too many");
    else
      wanted_[wanted_count_++] = name;
  }
}

void MetricSet::refuse(const char* name, const char* why) {
  const size_t used = strlen(refused_);
  snprintf(refused_ + used, sizeof refused_ - used, "%s%s (%s)", used == 0 ? "" : ", ", name, why);
}

void MetricSet::drop_image() {
  free(config_);
  config_ = nullptr;
  config_bytes_ = 0;
}

// Of the first `count` names, whose image is kept; names are only ever added to a host object, so each try has its own.
Status MetricSet::passes_of(const ProfilerFunctions& call, const char* chip, const uint8_t* availability,
                            uint32_t count, size_t& passes) {
  release(call);
  auto made = told<HostInitialize>();
  made.type = kOfRangesHost;
  made.chip = chip;
  made.availability = availability;
  if (const Status status = call.host_initialize(&made)) return status;
  host_ = made.host;
  auto metrics = told<HostMetrics>();
  metrics.host = host_;
  metrics.names = names_;
  metrics.count = count;
  if (const Status status = call.host_add_metrics(&metrics)) return status;
  auto size = told<HostImageSize>();
  size.host = host_;
  if (const Status status = call.host_image_size(&size)) return status;
  config_ = static_cast<uint8_t*>(calloc(1, size.bytes));
  if (config_ == nullptr) return Statuses::out_of_memory;
  config_bytes_ = size.bytes;
  auto image = told<HostImage>();
  image.host = host_;
  image.bytes = config_bytes_;
  image.image = config_;
  if (const Status status = call.host_image(&image)) return status;
  auto needed = told<HostPasses>();
  needed.bytes = config_bytes_;
  needed.image = config_;
  const Status status = call.host_passes(&needed);
  passes = needed.passes;
  return status;
}

Status MetricSet::choose(const ProfilerFunctions& call, const char* chip, const uint8_t* availability) {
  size_t passes = 0;
  for (uint32_t i = 0; i < wanted_count_; ++i) {
    names_[count_] = wanted_[i];
    const Status status = passes_of(call, chip, availability, count_ + 1, passes);
    // A library answers "invalid parameter" for a name that it does not know, whatever its documentation says.
    const bool unknown = status == Statuses::invalid_metric_name || status == Statuses::invalid_parameter;
    if (status != Statuses::success && !unknown) return status;
    if (status == Statuses::success && passes == 1)
      ++count_;
    else
      refuse(wanted_[i], unknown ? "not on this chip" : "needs a second pass");
  }
  if (count_ == 0) return Statuses::invalid_metric_name;
  const Status status = passes_of(call, chip, availability, count_, passes);
  return status == Statuses::success && passes != 1 ? Statuses::not_supported : status;
}

void MetricSet::release(const ProfilerFunctions& call) {
  drop_image();
  if (host_ == nullptr) return;
  auto given_back = told<HostDeinitialize>();
  given_back.host = host_;
  call.host_deinitialize(&given_back);
  host_ = nullptr;
}

Status MetricSet::evaluate(const ProfilerFunctions& call, const uint8_t* data, size_t bytes, size_t range,
                           double* values) const {
  auto asked = told<HostEvaluate>();
  asked.host = host_;
  asked.data = data;
  asked.data_bytes = bytes;
  asked.range = range;
  asked.names = names();
  asked.count = count_;
  asked.values = values;
  return call.host_evaluate(&asked);
}

}  // namespace gradsync::cupti
