#include "collectors/inject/nccl/profiler.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "collectors/inject/nccl/denied.h"
#include "collectors/inject/nccl/issued.h"
#include "collectors/inject/nccl/launches.h"
#include "collectors/inject/nccl/libraries.h"
#include "collectors/inject/nccl/slots.h"
#include "collectors/inject/nccl/work.h"
#include "src/spool_writer/atomics.h"

namespace gradsync::nccl {
namespace {

constexpr uint64_t kDefault = EventType::collective | EventType::point_to_point;
constexpr uint64_t kProxy = EventType::proxy_operation | EventType::proxy_step;

// GSD_NCCL_EVENTS is a comma list.
bool listed(const char* list, const char* word) {
  const size_t length = strlen(word);
  for (const char* at = list; at != nullptr; at = strchr(at, ',')) {
    if (*at == ',') ++at;
    if (strncmp(at, word, length) == 0 && (at[length] == 0 || at[length] == ',')) return true;
  }
  return false;
}

uint64_t events_asked_for(int version) {
  const char* list = secure_getenv("GSD_NCCL_EVENTS");
  return kDefault | (version >= 6 ? uint64_t{EventType::copy_engine_collective} : 0) |
         (listed(list, "kernels") ? uint64_t{EventType::kernel_channel} : 0) | (listed(list, "proxy") ? kProxy : 0);
}

void tell_version(int version, int plugin) {
  char text[16] = "v0";
  text[1] = static_cast<char>('0' + plugin);
  gsd_fact("nccl.plugin", text);
  if (version < 20000) return;
  const int parts[] = {version / 10000, version / 100 % 100, version % 100};
  char* at = text;
  for (int i = 0; i < 3; ++i) {
    if (i > 0) *at++ = '.';
    if (parts[i] >= 10) *at++ = static_cast<char>('0' + parts[i] / 10);
    *at++ = static_cast<char>('0' + parts[i] % 10);
  }
  *at = 0;
  gsd_fact("nccl.version", text);
}

int init(int version, const void* caller, const InitArguments& arguments, void** context, int* mask) {
  if (context == nullptr || mask == nullptr) return 0;
  const int saved_errno = errno;
  *context = nullptr;
  *mask = 0;
  PluginCommunicator* made = take_communicator();
  if (made != nullptr) {
    const int nccl = version_of_nccl_at(caller);
    const Denied denied = denied_events(nccl);
    const uint64_t asked_for = events_asked_for(version);
    made->hash = arguments.communicator;
    made->wanted = gsd_enabled() != 0 ? asked_for & ~denied.events : 0;
    made->next = next_profiler(version);
    made->next_context = nullptr;
    made->next_wanted = initialise(made->next, arguments, &made->next_context);
    if (gsd_enabled() != 0) {
      tell_version(nccl, version);
      if ((asked_for & denied.events) != 0) gsd_fact("not_covered.nccl_plugin", denied.why);
      prepare_names();
      if ((made->wanted & kDefault) != 0) keep_issued_calls();
    }
    *context = made;
    *mask = static_cast<int>(made->wanted | made->next_wanted);
  } else {
    gsd_fact("not_covered.nccl_plugin", "more communicators at once than it keeps; further ones are not seen");
  }
  errno = saved_errno;
  return 0;
}

void* next_handle_of(const void* handle, void* otherwise) {
  const PluginEvent* event = event_of(handle);
  return event != nullptr ? event->next : otherwise;
}

void* start_next(int version, uint64_t type, void* descriptor, const PluginCommunicator& communicator, bool local) {
  if ((communicator.next_wanted & type) == 0) return nullptr;
  void* parent = static_cast<DescriptorHead*>(descriptor)->parent;
  void* group = nullptr;
  if (version >= 5 && type == EventType::collective) group = static_cast<CollectiveV5*>(descriptor)->parent_group;
  if (version >= 5 && type == EventType::point_to_point) group = static_cast<PointToPointV5*>(descriptor)->parent_group;
  alignas(8) char room[128];
  void* seen = translated(communicator.next, version, descriptor,
                          {local ? next_handle_of(parent, nullptr) : parent, next_handle_of(group, nullptr)}, room);
  void* handle = nullptr;
  communicator.next.start(communicator.next_context, &handle, seen);
  return handle;
}

template <int kVersion>
int start(void* context, void** handle, void* descriptor) {
  if (handle == nullptr) return 0;
  *handle = nullptr;
  if (context == nullptr || descriptor == nullptr) return 0;
  const int saved_errno = errno;
  const auto& communicator = *static_cast<const PluginCommunicator*>(context);
  const uint64_t type = type_of(kVersion, descriptor);
  if (((communicator.wanted | communicator.next_wanted) & type) != 0) {
    PluginEvent event = {};
    event.type = type;
    event.communicator = &communicator;
    const bool local = is_of_this_process(type, descriptor);
    const void* parent = static_cast<DescriptorHead*>(descriptor)->parent;
    event.parent = reinterpret_cast<uint64_t>(parent);
    event.next = start_next(kVersion, type, descriptor, communicator, local);
    if ((communicator.wanted & type) != 0)
      record_start(kVersion, descriptor, local ? event_of(parent) : nullptr, event);
    *handle = make_handle(event);
  }
  errno = saved_errno;
  return 0;
}

int stop(void* handle) {
  const int saved_errno = errno;
  if (PluginEvent* event = event_of(handle)) {
    if (event->is_own) gsd_end(event->event);
    if (event->next != nullptr) event->communicator->next.stop(event->next);
  }
  errno = saved_errno;
  return 0;
}

int record_state(void* handle, int state, void* arguments) {
  const int saved_errno = errno;
  if (PluginEvent* event = event_of(handle)) {
    if (event->type == EventType::kernel_channel && state == kStateKernelChannelStop && arguments != nullptr) {
      PluginEvent* parent = event_of(reinterpret_cast<void*>(event->parent));  // NOLINT(performance-no-int-to-ptr)
      // A state may come twice, also after the stop.
      if (parent != nullptr && spool::replace(&event->stopped, 0u, 1u))
        stop_kernel(static_cast<KernelChannelStop*>(arguments)->globaltimer_ns, *parent);
    }
    if (event->next != nullptr) event->communicator->next.record(event->next, state, arguments);
  }
  errno = saved_errno;
  return 0;
}

int finalize(void* context) {
  if (context == nullptr) return 0;
  const int saved_errno = errno;
  auto* communicator = static_cast<PluginCommunicator*>(context);
  if (communicator->next_wanted != 0) communicator->next.finalize(communicator->next_context);
  give_back(communicator);
  errno = saved_errno;
  return 0;
}

template <int kVersion>
int init_old(void** context, int* mask) {
  return init(kVersion, __builtin_return_address(0), {}, context, mask);
}

int init_v4(void** context, int* mask, const char* name, uint64_t communicator, int nodes, int ranks, int rank,
            void* log) {
  return init(4, __builtin_return_address(0), {communicator, name, nodes, ranks, rank, log}, context, mask);
}

template <int kVersion>
int init_new(void** context, uint64_t communicator, int* mask, const char* name, int nodes, int ranks, int rank,
             void* log) {
  return init(kVersion, __builtin_return_address(0), {communicator, name, nodes, ranks, rank, log}, context, mask);
}

constexpr char kName[] = "gradsync-doctor";

}  // namespace
}  // namespace gradsync::nccl

using namespace gradsync::nccl;

extern "C" {
const ProfilerV1 ncclProfiler_v1 = {kName, init_old<1>, start<1>, stop, record_state, finalize};
const ProfilerV1 ncclProfiler_v2 = {kName, init_old<2>, start<2>, stop, record_state, finalize};
const ProfilerV1 ncclProfiler_v3 = {kName, init_old<3>, start<3>, stop, record_state, finalize};
const ProfilerV4 ncclProfiler_v4 = {kName, init_v4, start<4>, stop, record_state, finalize};
const ProfilerV5 ncclProfiler_v5 = {kName, init_new<5>, start<5>, stop, record_state, finalize};
const ProfilerV5 ncclProfiler_v6 = {kName, init_new<6>, start<6>, stop, record_state, finalize};
}
