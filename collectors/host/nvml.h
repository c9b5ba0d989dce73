// What NVIDIA's management library says of GPUs: model, PCIe link, NVLink. The library is looked for at run time and its
// interface declared here, so that the program needs neither it nor its header.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "src/base/result.h"

namespace gradsync {

struct NvmlGpu {
  std::string address;                                              // "0000:1b:00.0", as sysfs writes it
  std::string model;                                                // "NVIDIA H100 80GB HBM3"
  std::optional<int> generation, max_generation, width, max_width;  // of its PCIe link
  // NVLinks that the GPU has, and those that are up. Absent: it cannot have any, or does not tell.
  std::optional<int> nvlinks, nvlinks_active;
};

inline constexpr const char* kNvmlLibrary = "libnvidia-ml.so.1";

// In the library's order. Error: no library, no driver, or one that is older than the library.
Result<std::vector<NvmlGpu>> read_nvml(const std::string& library = kNvmlLibrary);

// GT/s of a lane of a PCIe generation; nothing for one that is not known.
std::optional<double> pcie_lane_speed(int generation);

}  // namespace gradsync
