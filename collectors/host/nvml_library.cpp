#include "collectors/host/nvml_library.h"

#include <dlfcn.h>

#include <algorithm>
#include <cctype>

namespace gradsync {

template <class Function>
bool NvmlLibrary::find(Function& function, const char* name) const {
  function = reinterpret_cast<Function>(::dlsym(handle_, name));
  return function != nullptr;
}

Result<std::unique_ptr<NvmlLibrary>> NvmlLibrary::open(const std::string& path) {
  void* const handle = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) return Error{"cannot ask NVML", path, "there is no such library: no NVIDIA driver", ""};
  std::unique_ptr<NvmlLibrary> library(new NvmlLibrary(handle));
  if (!library->find_required()) return Error{"cannot ask NVML", path, "it lacks functions that version 11 has", ""};
  library->find_optional();
  if (const int status = library->initialize_(); status != Nvml::kSuccess)
    return Error{"cannot ask NVML", path, library->word_of(status), ""};
  library->initialized_ = true;
  return library;
}

NvmlLibrary::~NvmlLibrary() {
  if (initialized_) shutdown_();
  ::dlclose(handle_);
}

bool NvmlLibrary::find_required() {
  return find(initialize_, "nvmlInit_v2") && find(shutdown_, "nvmlShutdown") && find(count_, "nvmlDeviceGetCount_v2") &&
         find(by_index_, "nvmlDeviceGetHandleByIndex_v2") && find(pci_info_, "nvmlDeviceGetPciInfo_v3");
}

void NvmlLibrary::find_optional() {
  NvmlFunctions& f = functions_;
  find(word_of_, "nvmlErrorString");
  find(f.name, "nvmlDeviceGetName");
  find(f.nvlink_state, "nvmlDeviceGetNvLinkState");
  find(f.nvlink_version, "nvmlDeviceGetNvLinkVersion");
  find(f.pcie_generation, "nvmlDeviceGetCurrPcieLinkGeneration");
  find(f.max_pcie_generation, "nvmlDeviceGetMaxPcieLinkGeneration");
  find(f.pcie_width, "nvmlDeviceGetCurrPcieLinkWidth");
  find(f.max_pcie_width, "nvmlDeviceGetMaxPcieLinkWidth");
  find(f.power_mw, "nvmlDeviceGetPowerUsage");
  find(f.power_limit_mw, "nvmlDeviceGetEnforcedPowerLimit");
  find(f.clock_mhz, "nvmlDeviceGetClockInfo");
  find(f.max_clock_mhz, "nvmlDeviceGetMaxClockInfo");
  find(f.temperature_c, "nvmlDeviceGetTemperature");
  // The newer name is of version 12.2; the bits are the same.
  if (!find(f.clock_reasons, "nvmlDeviceGetCurrentClocksEventReasons"))
    find(f.clock_reasons, "nvmlDeviceGetCurrentClocksThrottleReasons");
  find(f.memory, "nvmlDeviceGetMemoryInfo");
  find(f.utilization, "nvmlDeviceGetUtilizationRates");
  find(f.ecc_errors, "nvmlDeviceGetTotalEccErrors");
  // One layout. That of the first version is shorter, and older than what we require.
  if (!find(f.processes, "nvmlDeviceGetComputeRunningProcesses_v3"))
    find(f.processes, "nvmlDeviceGetComputeRunningProcesses_v2");
  find(f.fields, "nvmlDeviceGetFieldValues");
  find(f.make_events, "nvmlEventSetCreate");
  find(f.free_events, "nvmlEventSetFree");
  find(f.register_events, "nvmlDeviceRegisterEvents");
  find(f.next_event, "nvmlEventSetWait_v2");
}

std::vector<NvmlDevice> NvmlLibrary::devices() const {
  std::vector<NvmlDevice> devices;
  unsigned count = 0;
  if (count_(&count) != Nvml::kSuccess) return devices;
  for (unsigned i = 0; i < count; ++i) {
    NvmlDevice device = nullptr;
    if (by_index_(i, &device) == Nvml::kSuccess) devices.push_back(device);
  }
  return devices;
}

// sysfs writes four digits of the domain, in small letters.
std::string NvmlLibrary::address(NvmlDevice device) const {
  NvmlPciInfo pci{};
  if (pci_info_(device, &pci) != Nvml::kSuccess) return "";
  std::string text(pci.bus_id, std::find(std::begin(pci.bus_id), std::end(pci.bus_id), '\0'));
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  const std::size_t colon = text.find(':');
  return colon != std::string::npos && colon > 4 ? text.substr(colon - 4) : text;
}

std::string NvmlLibrary::model(NvmlDevice device) const {
  std::array<char, Nvml::kNameBytes + 1> name{};
  const bool told = functions_.name != nullptr && functions_.name(device, name.data(), Nvml::kNameBytes) == 0;
  return told ? name.data() : "";
}

std::string NvmlLibrary::word_of(int status) const {
  return word_of_ == nullptr ? "status " + std::to_string(status) : word_of_(status);
}

}  // namespace gradsync
