#include "collectors/inject/cupti/ranges.h"

#include <stdlib.h>

namespace gradsync::cupti {
namespace {

template <typename Parameters>
Parameters of(RangeProfilerObject* profiler) {
  auto parameters = told<Parameters>();
  parameters.profiler = profiler;
  return parameters;
}

}  // namespace

Status RangeProfiler::prepare(const ProfilerFunctions& call, const MetricSet& metrics) {
  auto size = of<RangeDataSize>(profiler_);
  size.names = metrics.names();
  size.count = metrics.count();
  size.ranges = kMostKernels;
  size.nodes = kMostKernels;
  if (const Status status = call.data_size(&size)) return status;
  free(data_);
  data_bytes_ = size.bytes;
  data_ = static_cast<uint8_t*>(calloc(1, data_bytes_));
  if (data_ == nullptr) return Statuses::out_of_memory;
  auto image = of<RangeDataInitialize>(profiler_);
  image.bytes = data_bytes_;
  image.data = data_;
  if (const Status status = call.data_initialize(&image)) return status;
  auto config = of<RangeConfig>(profiler_);
  config.config_bytes = metrics.config_bytes();
  config.config = metrics.config();
  config.data_bytes = data_bytes_;
  config.data = data_;
  config.range = kRangePerKernel;
  config.replay = kReplayByCaller;  // and we never do
  config.ranges_per_pass = kMostKernels;
  config.nesting_levels = config.least_nesting_level = config.nesting_level = 1;
  return call.set_config(&config);
}

Status RangeProfiler::open(const ProfilerFunctions& call, void* context, const MetricSet& metrics) {
  kernels_ = dropped_ = 0;
  auto on = told<RangeEnable>();
  on.context = context;
  if (const Status status = call.enable(&on)) return status;
  profiler_ = on.profiler;
  Status status = prepare(call, metrics);
  auto start = of<RangeCall>(profiler_);
  if (status == Statuses::success) status = call.start(&start);
  if (status != Statuses::success) disable(call);
  return status;
}

void RangeProfiler::disable(const ProfilerFunctions& call) {
  auto off = of<RangeCall>(profiler_);
  call.disable(&off);
  profiler_ = nullptr;
}

Status RangeProfiler::stop(const ProfilerFunctions& call) {
  auto stop = of<RangeStop>(profiler_);
  if (const Status status = call.stop(&stop)) return status;
  auto decode = of<RangeDecode>(profiler_);
  if (const Status status = call.decode(&decode)) return status;
  dropped_ = decode.dropped;
  auto info = told<RangeDataInfo>();
  info.data = data_;
  info.bytes = data_bytes_;
  const Status status = call.data_info(&info);
  if (status == Statuses::success) kernels_ = info.ranges < kMostKernels ? info.ranges : kMostKernels;
  return status;
}

Status RangeProfiler::close(const ProfilerFunctions& call) {
  const Status status = stop(call);
  disable(call);
  return status;
}

void RangeProfiler::abandon(const ProfilerFunctions& call) {
  auto stop = of<RangeStop>(profiler_);
  call.stop(&stop);
  disable(call);
}

}  // namespace gradsync::cupti
