#include "collectors/host/gpu_sampler.h"

#include <algorithm>
#include <limits>

#include "collectors/host/proc_sampler.h"

namespace gradsync {
namespace {

using Number = std::optional<std::uint64_t>;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr std::size_t kMostSamples = 600;
constexpr int kMostEventsALook = 64;
constexpr int kFewestLooksOfAnother = 2;  // one may be a process of the job that has just ended

template <class Integer>
Cell cell(const std::optional<Integer>& value) {
  return value ? Cell(static_cast<std::int64_t>(*value)) : Cell(kNaN);
}

void keep_largest(Number& largest, const Number& value) {
  if (value && value.value() > largest.value_or(0)) largest = value;
}

// What a counter grew by; one that wraps or is reset counts from there.
void add_growth(Number& sum, const Number& before, const Number& now) {
  if (before && now) sum = sum.value_or(0) + (*now >= *before ? *now - *before : 0);
}

std::optional<std::uint64_t> max_clock(const NvmlFunctions& call, NvmlDevice device, int clock) {
  unsigned mhz = 0;
  if (call.max_clock_mhz == nullptr || call.max_clock_mhz(device, clock, &mhz) != Nvml::kSuccess) return std::nullopt;
  return mhz;
}

}  // namespace

GpuSampler::GpuSampler(std::unique_ptr<NvmlLibrary> library, OwnerOf owner_of)
    : library_(std::move(library)), owner_of_(std::move(owner_of)) {
  const NvmlFunctions& call = library_->functions();
  if (call.make_events != nullptr && call.next_event != nullptr && call.register_events != nullptr &&
      call.free_events != nullptr && call.make_events(&events_) != Nvml::kSuccess)
    events_ = nullptr;
  for (const NvmlDevice device : library_->devices()) {
    Gpu gpu;
    gpu.device = device;
    gpu.name = "gpu" + std::to_string(gpus_.size());
    gpu.fixed = read_gpu(*library_, device);
    gpu.max_sm_mhz = max_clock(call, device, Nvml::kSmClock);
    gpu.max_memory_mhz = max_clock(call, device, Nvml::kMemoryClock);
    if (events_ != nullptr && call.register_events(device, Nvml::kXidEvents, events_) == Nvml::kSuccess)
      events_told_ = true;
    gpus_.push_back(std::move(gpu));
  }
}

GpuSampler::~GpuSampler() {
  if (events_ != nullptr) library_->functions().free_events(events_);
}

void GpuSampler::look(Nanoseconds at) {
  for (Gpu& gpu : gpus_) {
    GpuLook look = look_at_gpu(library_->functions(), gpu.device, at);
    count(gpu, look);
    count_owners(gpu, look);
    gpu.samples.push_back(std::move(look));
    if (gpu.samples.size() <= kMostSamples) continue;
    std::vector<GpuLook> thinned;
    for (std::size_t i = 0; i + 1 < gpu.samples.size(); i += 2) thinned.push_back(std::move(gpu.samples[i]));
    thinned.push_back(std::move(gpu.samples.back()));
    gpu.samples = std::move(thinned);
  }
  take_events();
}

// A hardware slowdown has one of three causes; two of them have bits of their own, of which heat is told apart here.
void GpuSampler::count(Gpu& gpu, const GpuLook& look) const {
  ++gpu.looks;
  if (!gpu.samples.empty()) {
    const GpuLook& before = gpu.samples.back();
    add_growth(gpu.nvlink_bytes, before.nvlink_sent_bytes, look.nvlink_sent_bytes);
    add_growth(gpu.nvlink_bytes, before.nvlink_received_bytes, look.nvlink_received_bytes);
    add_growth(gpu.pcie_bytes, before.pcie_sent_bytes, look.pcie_sent_bytes);
    add_growth(gpu.pcie_bytes, before.pcie_received_bytes, look.pcie_received_bytes);
  }
  if (!gpu.ecc_first) gpu.ecc_first = look.ecc_uncorrected;
  keep_largest(gpu.most_memory, look.memory_used_bytes);
  if (!look.busy()) return;
  ++gpu.busy;
  keep_largest(gpu.busy_generation, look.pcie_generation);
  keep_largest(gpu.busy_width, look.pcie_width);
  if (!look.reasons) return;
  ++gpu.told;
  const auto has = [&look](std::uint64_t bits) { return (*look.reasons & bits) != 0; };
  using R = ClockReason;
  const bool thermal = has(R::kSoftwareThermal | R::kHardwareThermal);
  const bool hardware = has(R::kPowerBrake) || (has(R::kHardwareSlowdown) && !has(R::kHardwareThermal));
  gpu.thermal += thermal ? 1 : 0;
  gpu.hardware += hardware ? 1 : 0;
  gpu.power_capped += has(R::kPowerCap) ? 1 : 0;
  gpu.sync_boost += has(R::kSyncBoost) ? 1 : 0;
  gpu.throttled += thermal || hardware || has(R::kPowerCap | R::kSyncBoost) ? 1 : 0;
}

void GpuSampler::count_owners(Gpu& gpu, const GpuLook& look) const {
  if (!look.processes) return;
  gpu.processes_told = true;
  for (const std::int64_t pid : *look.processes) {
    const Owner owner = owner_of_(pid);
    if (owner == Owner::job) {
      gpu.of_job = true;
      gpu.others.erase(pid);
    } else if (owner == Owner::other) {
      ++gpu.others[pid];
    } else {
      gpu.has_strangers = true;
    }
  }
}

void GpuSampler::take_events() {
  if (!events_told_) return;
  NvmlEvent event{};
  for (int i = 0; i < kMostEventsALook; ++i) {
    if (library_->functions().next_event(events_, &event, 0) != Nvml::kSuccess) return;  // none is there
    if (event.type != Nvml::kXidEvents) continue;
    for (Gpu& gpu : gpus_)
      if (gpu.device == event.device) ++gpu.xids[event.data];
  }
}

// Whether the job computes on it. Absent: the numbers of processes are those of another namespace.
std::optional<std::int64_t> GpuSampler::is_of_job(const Gpu& gpu) {
  if (!gpu.processes_told || (!gpu.of_job && gpu.has_strangers)) return std::nullopt;
  return gpu.of_job ? 1 : 0;
}

Series GpuSampler::totals() const {
  Series series{"gpu",
                {"machine",
                 "device",
                 "address",
                 "model",
                 "of_job",
                 "interval_s",
                 "looks",
                 "busy_looks",
                 "told_looks",
                 "throttled",
                 "power_capped",
                 "thermal",
                 "hw_slowdown",
                 "sync_boost",
                 "max_sm_mhz",
                 "max_memory_mhz",
                 "pcie_generation",
                 "max_pcie_generation",
                 "pcie_lanes",
                 "max_pcie_lanes",
                 "pcie_bytes",
                 "nvlinks_active",
                 "nvlinks",
                 "nvlink_version",
                 "nvlink_bytes",
                 "memory_used_bytes",
                 "memory_total_bytes",
                 "ecc_uncorrected",
                 "ecc_new",
                 "xids",
                 "xid_numbers",
                 "other_processes",
                 "other_pids"},
                {}};
  for (const Gpu& gpu : gpus_) {
    if (gpu.samples.empty()) continue;
    const GpuLook &first = gpu.samples.front(), &last = gpu.samples.back();
    std::int64_t xids = 0, others = 0;
    std::string numbers, pids;
    for (const auto& [number, times] : gpu.xids) {
      xids += times;
      numbers += (numbers.empty() ? "" : " ") + std::to_string(number);
    }
    for (const auto& [pid, looks] : gpu.others) {
      if (looks < kFewestLooksOfAnother) continue;
      ++others;
      pids += (pids.empty() ? "" : " ") + std::to_string(pid);
    }
    Number new_errors;
    if (gpu.ecc_first && last.ecc_uncorrected)
      new_errors = *last.ecc_uncorrected - std::min(*last.ecc_uncorrected, *gpu.ecc_first);
    series.rows.push_back({machine_name(),
                           gpu.name,
                           gpu.fixed.address,
                           gpu.fixed.model,
                           cell(is_of_job(gpu)),
                           static_cast<double>(last.at - first.at) * 1e-9,
                           gpu.looks,
                           gpu.busy,
                           gpu.told,
                           gpu.throttled,
                           gpu.power_capped,
                           gpu.thermal,
                           gpu.hardware,
                           gpu.sync_boost,
                           cell(gpu.max_sm_mhz),
                           cell(gpu.max_memory_mhz),
                           cell(gpu.busy_generation),
                           cell(gpu.fixed.max_generation),
                           cell(gpu.busy_width),
                           cell(gpu.fixed.max_width),
                           cell(gpu.pcie_bytes),
                           cell(gpu.fixed.nvlinks_active),
                           cell(gpu.fixed.nvlinks),
                           cell(gpu.fixed.nvlink_version),
                           cell(gpu.nvlink_bytes),
                           cell(gpu.most_memory),
                           cell(last.memory_total_bytes),
                           cell(last.ecc_uncorrected),
                           cell(new_errors),
                           events_told_ ? Cell(xids) : Cell(kNaN),
                           numbers,
                           is_of_job(gpu) ? Cell(others) : Cell(kNaN),
                           pids});
  }
  return series;
}

Series GpuSampler::samples() const {
  Series series{
      "gpu_samples",
      {"machine", "device", "at_ns", "busy", "sm_mhz", "memory_mhz", "utilization_percent", "power_w", "power_limit_w",
       "temperature_c", "clock_reasons", "pcie_generation", "pcie_lanes", "memory_used_bytes"},
      {}};
  const auto watts = [](const Number& mw) { return mw ? static_cast<double>(*mw) * 1e-3 : kNaN; };
  for (const Gpu& gpu : gpus_)
    for (const GpuLook& look : gpu.samples)
      series.rows.push_back({machine_name(), gpu.name, std::int64_t{look.at}, std::int64_t{look.busy()},
                             cell(look.sm_mhz), cell(look.memory_mhz), cell(look.utilization_percent),
                             watts(look.power_mw), watts(look.power_limit_mw), cell(look.temperature_c),
                             cell(look.reasons), cell(look.pcie_generation), cell(look.pcie_width),
                             cell(look.memory_used_bytes)});
  return series;
}

void GpuSampler::add_parts(RecordingParts& parts) const {
  Series series = totals();
  if (series.rows.empty()) return;
  parts.series["gpu"] = std::move(series);
  parts.series["gpu_samples"] = samples();
}

}  // namespace gradsync
