#include "collectors/inject/cupti/counted_device.h"

#include <dlfcn.h>
#include <stdlib.h>

#include "src/spool_writer/old_glibc.h"

namespace gradsync::cupti {

bool find_driver(Driver& driver) {
  void* library = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
  if (library == nullptr) return false;
  driver.get_context = reinterpret_cast<int (*)(void**)>(dlsym(library, "cuCtxGetCurrent"));
  driver.get_device = reinterpret_cast<int (*)(int*)>(dlsym(library, "cuCtxGetDevice"));
  driver.synchronize = reinterpret_cast<int (*)()>(dlsym(library, "cuCtxSynchronize"));
  return driver.get_context != nullptr && driver.get_device != nullptr && driver.synchronize != nullptr;
}

Status ask_device(const ProfilerFunctions& call, int device, void* context, CountedDevice& found, const char*& doing) {
  doing = "starting its profiler";
  auto start = told<ProfilerInitialize>();
  if (const Status status = call.initialize(&start)) return status;
  found.started = true;
  doing = "whether the device can be profiled";
  auto supported = told<DeviceSupported>();
  supported.device = device;
  supported.api = kOfRangesDevice;
  if (const Status status = call.device_supported(&supported)) return status;
  if (supported.supported != kSupported)
    return supported.vgpu != kSupported           ? Statuses::virtual_device
           : supported.confidential != kSupported ? Statuses::confidential
           : supported.wsl != kSupported          ? Statuses::wsl_device
                                                  : Statuses::not_supported;
  doing = "the name of the chip";
  auto name = told<ChipName>();
  name.device = static_cast<size_t>(device);
  if (const Status status = call.chip_name(&name)) return status;
  found.chip = name.name;
  doing = "which counters are free";
  auto counters = told<CounterAvailability>();
  counters.context = context;
  if (const Status status = call.counter_availability(&counters)) return status;
  found.availability = static_cast<uint8_t*>(calloc(1, counters.image_bytes));
  if (found.availability == nullptr) return Statuses::out_of_memory;
  counters.image = found.availability;
  return call.counter_availability(&counters);
}

const char* meaning_of(Status status) {
  switch (status) {
    case Statuses::insufficient_privileges:
      return ": counters are reserved to the administrator";
    case Statuses::virtual_device_privileges:
      return ": the host of this virtual GPU does not allow it";
    case Statuses::virtual_device:
      return ": not on a virtual GPU";
    case Statuses::mig_device:
      return ": not on a part of a GPU (MIG)";
    case Statuses::confidential:
      return ": not with confidential computing";
    case Statuses::wsl_device:
      return ": not under WSL";
    case Statuses::not_supported:
    case Statuses::invalid_chip_name:
      return ": not on this GPU with this CUPTI";
    case Statuses::hardware_busy:
    case Statuses::several_subscribers:
    case Statuses::old_profiler:
      return ": another profiler holds the counters";
    case Statuses::invalid_metric_name:
      return ": none of the metrics can be read here in one pass";
    default:
      return "";
  }
}

}  // namespace gradsync::cupti
