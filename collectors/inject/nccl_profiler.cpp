#include "collectors/inject/nccl_profiler.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "collectors/inject/nccl_calls.h"
#include "collectors/inject/nccl_denied.h"
#include "collectors/inject/nccl_issued.h"
#include "collectors/inject/nccl_libraries.h"
#include "collectors/inject/nccl_slots.h"
#include "collectors/inject/nccl_work.h"
#include "src/spool_writer/write_event.h"

namespace gradsync::inject {
namespace {

using spool::Attribute;
using spool::AttributeType;

constexpr uint64_t kDefault = EventType::collective | EventType::point_to_point;
constexpr uint64_t kProxy = EventType::proxy_operation | EventType::proxy_step;

struct Names {
  uint32_t algorithm, protocol, channels, type, device_ns, device_source, kernel_channel;
  uint32_t proxy_send, proxy_receive, proxy_step;
};
Names g_names;

void prepare_names() {
  g_names = {gsd_string("algorithm", -1),
             gsd_string("protocol", -1),
             gsd_string("channels", -1),
             gsd_string("dtype", -1),
             gsd_string("gpu_ns", -1),
             gsd_string("gpu_ns_from", -1),
             gsd_string("nccl_kernel_channels", -1),
             gsd_string("nccl.proxy_send", -1),
             gsd_string("nccl.proxy_receive", -1),
             gsd_string("nccl.proxy_step", -1)};
}

// GSD_NCCL_EVENTS is a comma list.
bool listed(const char* list, const char* word) {
  const size_t length = strlen(word);
  for (const char* at = list; at != nullptr; at = strchr(at, ',')) {
    if (*at == ',') ++at;
    if (strncmp(at, word, length) == 0 && (at[length] == 0 || at[length] == ',')) return true;
  }
  return false;
}

uint64_t events_asked_for() {
  const char* list = secure_getenv("GSD_NCCL_EVENTS");
  return kDefault | (listed(list, "kernels") ? uint64_t{EventType::kernel_channel} : 0) |
         (listed(list, "proxy") ? kProxy : 0);
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
    const uint64_t asked_for = events_asked_for();
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

// Attributes of the event that the call has already, or an event of its own where nobody else saw the call: NCCL's ranges
// are off, or a CUDA graph replays it.
uint64_t write_work(const Work& work, const PluginCommunicator& communicator, uint64_t type, PluginEvent& event) {
  Attribute attributes[4];
  uint32_t count = 0;
  const auto add = [&](uint32_t key, AttributeType kind, int64_t value) {
    if (value != 0) attributes[count++] = {key, kind, value};
  };
  add(g_names.algorithm, AttributeType::string, work.algorithm);
  add(g_names.protocol, AttributeType::string, work.protocol);
  add(g_names.channels, AttributeType::integer, work.channels);
  const uint64_t hash = work.communicator != 0 ? work.communicator : communicator.hash;
  const uint32_t name = nvtx::nccl_call_name(work.call);
  if (const uint64_t issued = take_issued({0, work.bytes, hash, name})) {
    for (uint32_t i = 0; i < count; ++i) {
      if (attributes[i].type == AttributeType::string)
        gsd_attr_str(issued, attributes[i].key, static_cast<uint32_t>(attributes[i].value));
      else
        gsd_attr_int(issued, attributes[i].key, attributes[i].value);
    }
    return issued;
  }
  // An all-to-all is launched as sends and receives.
  if (type == EventType::point_to_point && calls_are_reported()) return spool::kNoEvent;
  if (work.type != nullptr) add(g_names.type, AttributeType::string, gsd_string(work.type->name, -1));
  event.is_own = true;
  const spool::What what{spool::Kind::collective, spool::Phase::none, spool::Source::nccl_plugin,
                         spool::kFlagExtrapolated, name};
  const uint64_t where = GSD_WHERE(nvtx::communicator_name(hash), 0);
  return spool::write_event(
      spool::t_lane, what, work.bytes, where,
      [] {
        return spool::Span{spool::now(), 0};
      },
      attributes, count);
}

struct ProxyOperation {
  DescriptorHead head;
  int32_t process;
  uint8_t channel;
  int32_t peer, steps, chunk_bytes, is_send;
};
static_assert(offsetof(ProxyOperation, chunk_bytes) == 40);

uint64_t write_proxy(const void* descriptor, uint64_t type, const PluginEvent* parent) {
  const bool step = type == EventType::proxy_step;
  const auto& told = *static_cast<const ProxyOperation*>(descriptor);
  const uint32_t name = step ? g_names.proxy_step : told.is_send != 0 ? g_names.proxy_send : g_names.proxy_receive;
  const uint64_t bytes = step ? 0 : static_cast<uint64_t>(told.steps) * static_cast<uint64_t>(told.chunk_bytes);
  const uint64_t event = gsd_begin(GSD_WHAT(spool::Kind::range, 0, spool::Source::nccl_plugin, 0, name), bytes, 0);
  if (parent != nullptr) gsd_link(event, parent->event);
  return event;
}

void start_kernel(const KernelChannelV4& told, PluginEvent* parent) {
  if (parent == nullptr || told.globaltimer_ns == 0) return;
  uint64_t first = spool::load_relaxed(&parent->device_first_ns);
  while ((first == 0 || told.globaltimer_ns < first) &&
         !spool::replace(&parent->device_first_ns, first, told.globaltimer_ns)) {
    first = spool::load_relaxed(&parent->device_first_ns);
  }
}

// The last channel tells how long the collective's kernel ran: both ends are stamps of one GPU's clock.
void stop_kernel(uint64_t globaltimer_ns, PluginEvent& parent) {
  spool::raise_to(&parent.device_last_ns, globaltimer_ns);
  if (spool::add_relaxed(&parent.channels_running, -1) != 1) return;
  const uint64_t first = spool::load_relaxed(&parent.device_first_ns);
  const uint64_t last = spool::load_acquire(&parent.device_last_ns);
  if (first == 0 || last <= first) return;
  gsd_attr_int(parent.event, g_names.device_ns, static_cast<int64_t>(last - first));
  gsd_attr_str(parent.event, g_names.device_source, g_names.kernel_channel);
}

bool is_proxy(uint64_t type) { return (type & (kProxy | EventType::proxy_control)) != 0; }

// A proxy operation may belong to a collective of another process, whose handles mean nothing here.
bool is_of_this_process(uint64_t type, const void* descriptor) {
  return type != EventType::proxy_operation ||
         static_cast<uint32_t>(static_cast<const ProxyOperation*>(descriptor)->process) == spool::process_id();
}

void record(int version, uint64_t type, const void* descriptor, PluginEvent* parent, PluginEvent& event) {
  if (type == EventType::collective || type == EventType::point_to_point) {
    const Work work =
        type == EventType::collective ? read_collective(version, descriptor) : read_point_to_point(version, descriptor);
    if (work.call == 0) return;
    event.event = write_work(work, *event.communicator, type, event);
    event.channels_running = static_cast<int32_t>(work.channels);
  } else if (type == EventType::kernel_channel && version >= 4) {
    start_kernel(*static_cast<const KernelChannelV4*>(descriptor), parent);
  } else if (is_proxy(type) && type != EventType::proxy_control) {
    event.event = write_proxy(descriptor, type, parent);
    event.is_own = true;
  }
}

void* next_handle_of(const void* handle, void* otherwise) {
  const PluginEvent* event = event_of(handle);
  return event != nullptr ? event->next : otherwise;
}

void* start_next(int version, uint64_t type, void* descriptor, const PluginCommunicator& communicator, bool local) {
  if ((communicator.next_wanted & type) == 0) return nullptr;
  void* parent = static_cast<DescriptorHead*>(descriptor)->parent;
  void* group = nullptr;
  if (version == 5 && type == EventType::collective) group = static_cast<CollectiveV5*>(descriptor)->parent_group;
  if (version == 5 && type == EventType::point_to_point) group = static_cast<PointToPointV5*>(descriptor)->parent_group;
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
      record(kVersion, type, descriptor, local ? event_of(parent) : nullptr, event);
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

int init_v5(void** context, uint64_t communicator, int* mask, const char* name, int nodes, int ranks, int rank,
            void* log) {
  return init(5, __builtin_return_address(0), {communicator, name, nodes, ranks, rank, log}, context, mask);
}

constexpr char kName[] = "gradsync-doctor";

}  // namespace
}  // namespace gradsync::inject

using namespace gradsync::inject;

extern "C" {
const ProfilerV1 ncclProfiler_v1 = {kName, init_old<1>, start<1>, stop, record_state, finalize};
const ProfilerV1 ncclProfiler_v2 = {kName, init_old<2>, start<2>, stop, record_state, finalize};
const ProfilerV1 ncclProfiler_v3 = {kName, init_old<3>, start<3>, stop, record_state, finalize};
const ProfilerV4 ncclProfiler_v4 = {kName, init_v4, start<4>, stop, record_state, finalize};
const ProfilerV5 ncclProfiler_v5 = {kName, init_v5, start<5>, stop, record_state, finalize};
}
