#include "collectors/inject/nccl/slots.h"

#include "src/spool_writer/atomics.h"

namespace gradsync::nccl {
namespace {

constexpr uint64_t kEvents = 16384;
PluginEvent g_events[kEvents];
uint64_t g_serials;

constexpr uint32_t kCommunicators = 1024;
PluginCommunicator g_communicators[kCommunicators];

}  // namespace

PluginCommunicator* take_communicator() {
  for (PluginCommunicator& communicator : g_communicators) {
    if (spool::replace(&communicator.used, 0u, 1u)) return &communicator;
  }
  return nullptr;
}

void give_back(PluginCommunicator* communicator) { spool::store_release(&communicator->used, 0u); }

void* make_handle(const PluginEvent& event) {
  const uint64_t serial = spool::add_relaxed(&g_serials, uint64_t{1}) + 1;
  PluginEvent& slot = g_events[serial % kEvents];
  spool::store_relaxed(&slot.serial, uint64_t{0});
  __atomic_thread_fence(__ATOMIC_RELEASE);
  slot.type = event.type;
  slot.event = event.event;
  slot.parent = event.parent;
  slot.next = event.next;
  slot.communicator = event.communicator;
  spool::store_relaxed(&slot.device_first_ns, event.device_first_ns);
  spool::store_relaxed(&slot.device_last_ns, event.device_last_ns);
  spool::store_relaxed(&slot.channels_running, event.channels_running);
  spool::store_relaxed(&slot.stopped, event.stopped);
  slot.is_own = event.is_own;
  spool::store_release(&slot.serial, serial);
  return reinterpret_cast<void*>(serial);  // NOLINT(performance-no-int-to-ptr): NCCL only hands it back
}

PluginEvent* event_of(const void* handle) {
  const auto serial = reinterpret_cast<uint64_t>(handle);
  PluginEvent& slot = g_events[serial % kEvents];
  return serial != 0 && spool::load_acquire(&slot.serial) == serial ? &slot : nullptr;
}

}  // namespace gradsync::nccl
