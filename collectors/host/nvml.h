// What NVIDIA's management library says of GPUs that does not change while a job runs: model, PCIe link, NVLink.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "collectors/host/nvml_library.h"
#include "src/base/result.h"

namespace gradsync {

struct NvmlGpu {
  std::string address;                                              // "0000:1b:00.0", as sysfs writes it
  std::string model;                                                // "NVIDIA H100 80GB HBM3"
  std::optional<int> generation, max_generation, width, max_width;  // of its PCIe link
  // NVLinks that the GPU has, and those that are up. Absent: it cannot have any, or does not tell.
  std::optional<int> nvlinks, nvlinks_active, nvlink_version;
};

inline constexpr const char* kNvmlLibrary = "libnvidia-ml.so.1";

// In the library's order. Error: no library, no driver, or one that is older than the library.
Result<std::vector<NvmlGpu>> read_nvml(const std::string& library = kNvmlLibrary);

NvmlGpu read_gpu(const NvmlLibrary& library, NvmlDevice device);

// GT/s of a lane of a PCIe generation; nothing for one that is not known.
std::optional<double> pcie_lane_speed(int generation);

}  // namespace gradsync
