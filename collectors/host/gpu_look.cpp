#include "collectors/host/gpu_look.h"

namespace gradsync {
namespace {

constexpr std::uint64_t kBusyPercent = 10;
constexpr unsigned kMostProcesses = 256;

using Number = std::optional<std::uint64_t>;

template <class Value, class Function, class... Arguments>
Number ask(Function function, Arguments... arguments) {
  Value value = 0;
  if (function == nullptr || function(arguments..., &value) != Nvml::kSuccess) return std::nullopt;
  return value;
}

Number number_of(const NvmlField& field) {
  if (field.status != Nvml::kSuccess) return std::nullopt;
  if (field.type == Nvml::kUnsignedValue) return field.value.as_unsigned;
  if (field.type == Nvml::kUnsignedLongValue || field.type == Nvml::kUnsignedLongLongValue) return field.value.as_long;
  return std::nullopt;
}

void read_traffic(const NvmlFunctions& call, NvmlDevice device, GpuLook& look) {
  if (call.fields == nullptr) return;
  NvmlField fields[4] = {};
  const unsigned numbers[] = {Nvml::kNvlinkSentField, Nvml::kNvlinkReceivedField, Nvml::kPcieSentField,
                              Nvml::kPcieReceivedField};
  for (int i = 0; i < 4; ++i) {
    fields[i].field = numbers[i];
    fields[i].scope = i < 2 ? Nvml::kAllLinks : 0;
    fields[i].status = -1;  // a driver that knows less leaves it
  }
  if (call.fields(device, 4, fields) != Nvml::kSuccess) return;
  const auto bytes = [](Number kib) { return kib ? Number(*kib * 1024) : kib; };
  look.nvlink_sent_bytes = bytes(number_of(fields[0]));
  look.nvlink_received_bytes = bytes(number_of(fields[1]));
  look.pcie_sent_bytes = number_of(fields[2]);
  look.pcie_received_bytes = number_of(fields[3]);
}

void read_processes(const NvmlFunctions& call, NvmlDevice device, GpuLook& look) {
  if (call.processes == nullptr) return;
  NvmlProcess processes[kMostProcesses] = {};
  unsigned count = kMostProcesses;
  if (call.processes(device, &count, processes) != Nvml::kSuccess) return;  // also when there are more
  look.processes.emplace();
  for (unsigned i = 0; i < count && i < kMostProcesses; ++i) look.processes->push_back(processes[i].pid);
}

}  // namespace

bool GpuLook::busy() const {
  if (utilization_percent) return *utilization_percent >= kBusyPercent;
  return reasons && (*reasons & ClockReason::kIdle) == 0;
}

GpuLook look_at_gpu(const NvmlFunctions& call, NvmlDevice device, Nanoseconds at) {
  GpuLook look;
  look.at = at;
  look.sm_mhz = ask<unsigned>(call.clock_mhz, device, Nvml::kSmClock);
  look.memory_mhz = ask<unsigned>(call.clock_mhz, device, Nvml::kMemoryClock);
  look.reasons = ask<NvmlLong>(call.clock_reasons, device);
  look.power_mw = ask<unsigned>(call.power_mw, device);
  look.power_limit_mw = ask<unsigned>(call.power_limit_mw, device);
  look.temperature_c = ask<unsigned>(call.temperature_c, device, 0);
  look.pcie_generation = ask<unsigned>(call.pcie_generation, device);
  look.pcie_width = ask<unsigned>(call.pcie_width, device);
  look.ecc_uncorrected = ask<NvmlLong>(call.ecc_errors, device, Nvml::kUncorrected, Nvml::kSinceDriverLoad);
  NvmlUtilization utilization{};
  if (call.utilization != nullptr && call.utilization(device, &utilization) == Nvml::kSuccess)
    look.utilization_percent = utilization.gpu;
  NvmlMemory memory{};
  if (call.memory != nullptr && call.memory(device, &memory) == Nvml::kSuccess) {
    look.memory_used_bytes = memory.used;
    look.memory_total_bytes = memory.total;
  }
  read_traffic(call, device, look);
  read_processes(call, device, look);
  return look;
}

}  // namespace gradsync
