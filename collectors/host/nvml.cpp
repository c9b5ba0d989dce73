#include "collectors/host/nvml.h"

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <memory>

namespace gradsync {
namespace {

// Names, numbers and layouts as NVIDIA's NVML API reference gives them; unchanged since version 11 of the library.
constexpr int kSuccess = 0;
constexpr unsigned kMostLinks = 18, kNameBytes = 96;
using Device = struct NvmlDevice*;
struct PciInfo {
  char legacy_bus_id[16];
  unsigned domain, bus, device, pci_device_id, pci_subsystem_id;
  char bus_id[32];  // "00000000:1B:00.0"
};

class Library {
 public:
  static Result<std::unique_ptr<Library>> open(const std::string& path) {
    void* const handle = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) return Error{"cannot ask NVML", path, "there is no such library: no NVIDIA driver", ""};
    std::unique_ptr<Library> library(new Library(handle));
    const bool whole = library->find(library->initialize_, "nvmlInit_v2") &&
                       library->find(library->shutdown_, "nvmlShutdown") &&
                       library->find(library->count_, "nvmlDeviceGetCount_v2") &&
                       library->find(library->by_index_, "nvmlDeviceGetHandleByIndex_v2") &&
                       library->find(library->pci_info_, "nvmlDeviceGetPciInfo_v3");
    if (!whole) return Error{"cannot ask NVML", path, "it lacks functions that version 11 has", ""};
    library->find(library->name_, "nvmlDeviceGetName");
    library->find(library->word_of_, "nvmlErrorString");
    library->find(library->link_state_, "nvmlDeviceGetNvLinkState");
    library->find(library->link_numbers_[0], "nvmlDeviceGetCurrPcieLinkGeneration");
    library->find(library->link_numbers_[1], "nvmlDeviceGetMaxPcieLinkGeneration");
    library->find(library->link_numbers_[2], "nvmlDeviceGetCurrPcieLinkWidth");
    library->find(library->link_numbers_[3], "nvmlDeviceGetMaxPcieLinkWidth");
    const int status = library->initialize_();
    if (status != kSuccess)
      return Error{"cannot ask NVML", path,
                   library->word_of_ == nullptr ? "status " + std::to_string(status) : library->word_of_(status), ""};
    library->initialized_ = true;
    return library;
  }
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;
  ~Library() {
    if (initialized_) shutdown_();
    ::dlclose(handle_);
  }

  std::vector<NvmlGpu> gpus() const {
    std::vector<NvmlGpu> gpus;
    unsigned count = 0;
    if (count_(&count) != kSuccess) return gpus;
    for (unsigned i = 0; i < count; ++i) {
      Device device = nullptr;
      if (by_index_(i, &device) == kSuccess) gpus.push_back(read(device));
    }
    return gpus;
  }

 private:
  explicit Library(void* handle) : handle_(handle) {}

  template <class Function>
  bool find(Function& function, const char* name) const {
    function = reinterpret_cast<Function>(::dlsym(handle_, name));
    return function != nullptr;
  }

  std::optional<int> number(std::size_t which, Device device) const {
    unsigned value = 0;
    if (link_numbers_[which] == nullptr || link_numbers_[which](device, &value) != kSuccess) return std::nullopt;
    return static_cast<int>(value);
  }

  NvmlGpu read(Device device) const {
    NvmlGpu gpu;
    PciInfo pci{};
    if (pci_info_(device, &pci) == kSuccess) gpu.address = address_of(pci);
    std::array<char, kNameBytes + 1> name{};
    if (name_ != nullptr && name_(device, name.data(), kNameBytes) == kSuccess) gpu.model = name.data();
    gpu.generation = number(0, device);
    gpu.max_generation = number(1, device);
    gpu.width = number(2, device);
    gpu.max_width = number(3, device);
    for (unsigned link = 0; link_state_ != nullptr && link < kMostLinks; ++link) {
      unsigned active = 0;
      if (link_state_(device, link, &active) != kSuccess) continue;  // it has no such link
      gpu.nvlinks = gpu.nvlinks.value_or(0) + 1;
      gpu.nvlinks_active = gpu.nvlinks_active.value_or(0) + (active != 0 ? 1 : 0);
    }
    return gpu;
  }

  // sysfs writes four digits of the domain, in small letters.
  static std::string address_of(const PciInfo& pci) {
    std::string text(pci.bus_id, std::find(std::begin(pci.bus_id), std::end(pci.bus_id), '\0'));
    std::transform(text.begin(), text.end(), text.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    const std::size_t colon = text.find(':');
    return colon != std::string::npos && colon > 4 ? text.substr(colon - 4) : text;
  }

  void* handle_;
  bool initialized_ = false;
  int (*initialize_)() = nullptr;
  int (*shutdown_)() = nullptr;
  int (*count_)(unsigned*) = nullptr;
  int (*by_index_)(unsigned, Device*) = nullptr;
  int (*pci_info_)(Device, PciInfo*) = nullptr;
  int (*name_)(Device, char*, unsigned) = nullptr;
  const char* (*word_of_)(int) = nullptr;
  int (*link_state_)(Device, unsigned, unsigned*) = nullptr;
  std::array<int (*)(Device, unsigned*), 4> link_numbers_{};
};

}  // namespace

Result<std::vector<NvmlGpu>> read_nvml(const std::string& library) {
  const Result<std::unique_ptr<Library>> opened = Library::open(library);
  if (!opened) return opened.error();
  return (*opened)->gpus();
}

std::optional<double> pcie_lane_speed(int generation) {
  constexpr std::array<double, 6> kSpeeds{2.5, 5, 8, 16, 32, 64};
  if (generation < 1 || generation > static_cast<int>(kSpeeds.size())) return std::nullopt;
  return kSpeeds[static_cast<std::size_t>(generation - 1)];
}

}  // namespace gradsync
