// Limits of the devices' multiprocessors, asked of the driver that is loaded already. Needs no context.
#pragma once

#include "collectors/inject/cupti/occupancy.h"

namespace gradsync::cupti {

constexpr uint32_t kMostDevices = 16;

// Asked once per device and process, by the reader of the records alone; all zero when the driver does not tell.
class Devices {
 public:
  // Looks the driver up; before the first limits(), on a thread of the job.
  void find_driver();
  const DeviceLimits& limits(uint32_t device);

 private:
  struct Known {
    bool asked;
    DeviceLimits limits;
  };
  void ask(uint32_t device, DeviceLimits& limits) const;

  int (*get_attribute_)(int* value, int attribute, int device);
  Known known_[kMostDevices];
  DeviceLimits unknown_;
};

}  // namespace gradsync::cupti
