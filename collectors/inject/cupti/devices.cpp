#include "collectors/inject/cupti/devices.h"

#include <dlfcn.h>

#include "src/spool_writer/old_glibc.h"

namespace gradsync::cupti {
namespace {

// CUdevice_attribute
struct Attribute {
  int number;
  uint32_t DeviceLimits::*field;
};
constexpr Attribute kAttributes[] = {
    {10, &DeviceLimits::warp_threads}, {39, &DeviceLimits::threads},
    {106, &DeviceLimits::blocks},      {82, &DeviceLimits::registers},
    {81, &DeviceLimits::shared_bytes}, {111, &DeviceLimits::reserved_shared_bytes},
    {75, &DeviceLimits::major},        {16, &DeviceLimits::multiprocessors},
};

}  // namespace

void Devices::find_driver() {
  void* driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
  if (driver != nullptr)
    get_attribute_ = reinterpret_cast<int (*)(int*, int, int)>(dlsym(driver, "cuDeviceGetAttribute"));
}

void Devices::ask(uint32_t device, DeviceLimits& limits) const {
  if (get_attribute_ == nullptr) return;
  for (const Attribute& attribute : kAttributes) {
    int value = 0;
    if (get_attribute_(&value, attribute.number, static_cast<int>(device)) == 0 && value > 0)
      limits.*attribute.field = static_cast<uint32_t>(value);
  }
}

const DeviceLimits& Devices::limits(uint32_t device) {
  if (device >= kMostDevices) return unknown_;
  Known& known = known_[device];
  if (!known.asked) ask(device, known.limits);
  known.asked = true;
  return known.limits;
}

}  // namespace gradsync::cupti
