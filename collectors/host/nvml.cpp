#include "collectors/host/nvml.h"

#include <array>

#include "collectors/host/nvml_library.h"

namespace gradsync {
namespace {

std::optional<int> number(NvmlFunctions::Number function, NvmlDevice device) {
  unsigned value = 0;
  if (function == nullptr || function(device, &value) != Nvml::kSuccess) return std::nullopt;
  return static_cast<int>(value);
}

void read_links(const NvmlFunctions& call, NvmlDevice device, NvmlGpu& gpu) {
  for (unsigned link = 0; call.nvlink_state != nullptr && link < Nvml::kMostLinks; ++link) {
    unsigned active = 0;
    if (call.nvlink_state(device, link, &active) != Nvml::kSuccess) continue;  // it has no such link
    gpu.nvlinks = gpu.nvlinks.value_or(0) + 1;
    gpu.nvlinks_active = gpu.nvlinks_active.value_or(0) + (active != 0 ? 1 : 0);
    unsigned version = 0;
    if (call.nvlink_version != nullptr && call.nvlink_version(device, link, &version) == Nvml::kSuccess)
      gpu.nvlink_version = static_cast<int>(version);
  }
}

}  // namespace

NvmlGpu read_gpu(const NvmlLibrary& library, NvmlDevice device) {
  const NvmlFunctions& call = library.functions();
  NvmlGpu gpu;
  gpu.address = library.address(device);
  gpu.model = library.model(device);
  gpu.generation = number(call.pcie_generation, device);
  gpu.max_generation = number(call.max_pcie_generation, device);
  gpu.width = number(call.pcie_width, device);
  gpu.max_width = number(call.max_pcie_width, device);
  read_links(call, device, gpu);
  return gpu;
}

Result<std::vector<NvmlGpu>> read_nvml(const std::string& library) {
  const Result<std::unique_ptr<NvmlLibrary>> opened = NvmlLibrary::open(library);
  if (!opened) return opened.error();
  std::vector<NvmlGpu> gpus;
  for (const NvmlDevice device : (*opened)->devices()) gpus.push_back(read_gpu(**opened, device));
  return gpus;
}

std::optional<double> pcie_lane_speed(int generation) {
  constexpr std::array<double, 6> kSpeeds{2.5, 5, 8, 16, 32, 64};
  if (generation < 1 || generation > static_cast<int>(kSpeeds.size())) return std::nullopt;
  return kSpeeds[static_cast<std::size_t>(generation - 1)];
}

}  // namespace gradsync
