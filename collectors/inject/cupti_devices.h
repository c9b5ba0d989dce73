// Limits of the devices' multiprocessors, asked of the driver that is loaded already. Needs no context.
#pragma once

#include "collectors/inject/cupti_occupancy.h"

namespace gradsync::cupti {

constexpr uint32_t kMostDevices = 16;

// Asked once per device and process, by the reader of the records alone; all zero when the driver does not tell.
class Devices {
 public:
  const DeviceLimits& limits(uint32_t device);

 private:
  struct Known {
    bool asked;
    DeviceLimits limits;
  };
  Known known_[kMostDevices];
  DeviceLimits unknown_;
};

}  // namespace gradsync::cupti
