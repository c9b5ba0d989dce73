// NVIDIA's management library, looked for at run time: its interface is declared here, so that the program needs neither
// it nor its header. Names, numbers and layouts as NVIDIA's NVML API reference gives them. A function that the loaded
// library lacks is null, and so is everything that only it could tell.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "src/base/result.h"

namespace gradsync {

using NvmlDevice = struct NvmlOpaqueDevice*;
using NvmlEventSet = struct NvmlOpaqueEventSet*;
using NvmlLong = unsigned long long;

struct NvmlPciInfo {
  char legacy_bus_id[16];
  unsigned domain, bus, device, pci_device_id, pci_subsystem_id;
  char bus_id[32];  // "00000000:1B:00.0"
};

struct NvmlMemory {
  NvmlLong total, free, used;  // bytes
};

struct NvmlUtilization {
  unsigned gpu, memory;  // percent of the last sampling period
};

struct NvmlProcess {  // of _v2 and _v3
  unsigned pid;
  NvmlLong memory;
  unsigned gpu_instance, compute_instance;
};
static_assert(sizeof(NvmlProcess) == 24);

struct NvmlField {
  unsigned field, scope;
  long long timestamp, latency;
  int type, status;
  union {
    double as_double;
    NvmlLong as_long;
    unsigned as_unsigned;
  } value;
};
static_assert(sizeof(NvmlField) == 40 && alignof(NvmlField) == 8);

struct NvmlEvent {
  NvmlDevice device;
  NvmlLong type, data;  // of an Xid its number
  unsigned gpu_instance, compute_instance;
};

struct Nvml {
  static constexpr int kSuccess = 0, kTooSmall = 7;
  static constexpr unsigned kMostLinks = 36, kNameBytes = 96, kAllLinks = ~0u;
  static constexpr int kSmClock = 1, kMemoryClock = 2;
  static constexpr int kUncorrected = 1, kSinceDriverLoad = 0;
  static constexpr NvmlLong kXidEvents = 0x8;
  static constexpr unsigned kNvlinkSentField = 138, kNvlinkReceivedField = 139;  // KiB, of scope kAllLinks
  static constexpr unsigned kPcieSentField = 197, kPcieReceivedField = 198;      // bytes, wrap
  static constexpr int kUnsignedValue = 1, kUnsignedLongValue = 2, kUnsignedLongLongValue = 3;
};

struct NvmlFunctions {
  using Number = int (*)(NvmlDevice, unsigned*);
  Number pcie_generation = nullptr, max_pcie_generation = nullptr, pcie_width = nullptr, max_pcie_width = nullptr;
  Number power_mw = nullptr, power_limit_mw = nullptr;
  int (*name)(NvmlDevice, char*, unsigned) = nullptr;
  int (*nvlink_state)(NvmlDevice, unsigned link, unsigned*) = nullptr;
  int (*nvlink_version)(NvmlDevice, unsigned link, unsigned*) = nullptr;
  int (*clock_mhz)(NvmlDevice, int clock, unsigned*) = nullptr;
  int (*max_clock_mhz)(NvmlDevice, int clock, unsigned*) = nullptr;
  int (*temperature_c)(NvmlDevice, int sensor, unsigned*) = nullptr;
  int (*clock_reasons)(NvmlDevice, NvmlLong*) = nullptr;
  int (*memory)(NvmlDevice, NvmlMemory*) = nullptr;
  int (*utilization)(NvmlDevice, NvmlUtilization*) = nullptr;
  int (*ecc_errors)(NvmlDevice, int error, int counter, NvmlLong*) = nullptr;
  int (*processes)(NvmlDevice, unsigned* count, NvmlProcess*) = nullptr;
  int (*fields)(NvmlDevice, int count, NvmlField*) = nullptr;
  int (*make_events)(NvmlEventSet*) = nullptr;
  int (*free_events)(NvmlEventSet) = nullptr;
  int (*register_events)(NvmlDevice, NvmlLong types, NvmlEventSet) = nullptr;
  int (*next_event)(NvmlEventSet, NvmlEvent*, unsigned timeout_ms) = nullptr;
};

// One user; shuts the library down at the end. All calls from one thread at a time.
class NvmlLibrary {
 public:
  // Error: no library, no driver, or one that is older than version 11.
  static Result<std::unique_ptr<NvmlLibrary>> open(const std::string& path);
  NvmlLibrary(const NvmlLibrary&) = delete;
  NvmlLibrary& operator=(const NvmlLibrary&) = delete;
  ~NvmlLibrary();

  const NvmlFunctions& functions() const { return functions_; }
  std::vector<NvmlDevice> devices() const;       // in the library's order
  std::string address(NvmlDevice device) const;  // "0000:1b:00.0", as sysfs writes it; empty: not told
  std::string model(NvmlDevice device) const;    // "NVIDIA H100 80GB HBM3"
  std::string word_of(int status) const;

 private:
  explicit NvmlLibrary(void* handle) : handle_(handle) {}
  bool find_required();
  void find_optional();
  template <class Function>
  bool find(Function& function, const char* name) const;

  void* handle_;
  bool initialized_ = false;
  int (*initialize_)() = nullptr;
  int (*shutdown_)() = nullptr;
  int (*count_)(unsigned*) = nullptr;
  int (*by_index_)(unsigned, NvmlDevice*) = nullptr;
  int (*pci_info_)(NvmlDevice, NvmlPciInfo*) = nullptr;
  const char* (*word_of_)(int) = nullptr;
  NvmlFunctions functions_;
};

}  // namespace gradsync
