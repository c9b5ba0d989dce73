// One look at one GPU through NVML: clocks and why they are where they are, power, heat, links, memory, errors, and who
// else computes on it. What the driver does not tell is absent.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "collectors/host/nvml_library.h"
#include "src/model/event.h"

namespace gradsync {

// Bits of the clock event reasons.
struct ClockReason {
  static constexpr std::uint64_t kIdle = 0x1, kPowerCap = 0x4, kHardwareSlowdown = 0x8, kSyncBoost = 0x10,
                                 kSoftwareThermal = 0x20, kHardwareThermal = 0x40, kPowerBrake = 0x80;
};

struct GpuLook {
  Nanoseconds at = 0;
  std::optional<std::uint64_t> sm_mhz, memory_mhz, utilization_percent, power_mw, power_limit_mw, temperature_c;
  std::optional<std::uint64_t> reasons, pcie_generation, pcie_width, memory_used_bytes, memory_total_bytes;
  std::optional<std::uint64_t> ecc_uncorrected;  // since the driver was loaded
  // Counters.
  std::optional<std::uint64_t> nvlink_sent_bytes, nvlink_received_bytes, pcie_sent_bytes, pcie_received_bytes;
  std::optional<std::vector<std::int64_t>> processes;  // that compute on it

  // Kernels ran in a tenth of the driver's last sampling period; where it does not tell, its clocks are not those of an
  // idle GPU. What clocks and links do without work says nothing.
  bool busy() const;
};

GpuLook look_at_gpu(const NvmlFunctions& call, NvmlDevice device, Nanoseconds at);

}  // namespace gradsync
