// Records of CUPTI become records of the spool. By the reader of the buffers alone.
#pragma once

#include "collectors/inject/cupti/devices.h"
#include "collectors/inject/cupti/records.h"

namespace gradsync::cupti {

// Lane of a stream: the device above the stream's number. Numbers beyond share the last lane.
constexpr uint32_t stream_lane(uint32_t device, uint32_t stream) {
  return spool::kLaneStream | (device < 15 ? device : 15) << 16 | (stream < 0xffff ? stream : 0xffff);
}

class EventWriter {
 public:
  // Work on a device: on its stream's lane, with the attributes of docs/events.md. Calls: sequence = thread.
  void write(const Activity& activity);

  void prepare() { devices_.find_driver(); }

 private:
  uint32_t name_of(const Activity& activity);

  Devices devices_;
};

// A loss that the report shall tell: how many, and why. Nothing for none.
void write_loss(uint64_t count, const char* why);

}  // namespace gradsync::cupti
