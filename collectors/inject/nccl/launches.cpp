#include "collectors/inject/nccl/launches.h"

#include "collectors/inject/nccl/calls.h"
#include "collectors/inject/nccl/issued.h"
#include "collectors/inject/nccl/work.h"
#include "src/spool_writer/gsd.h"
#include "src/spool_writer/write_event.h"

namespace gradsync::nccl {
namespace {

using spool::Attribute;
using spool::AttributeType;

constexpr uint64_t kProxy = EventType::proxy_operation | EventType::proxy_step;

struct Names {
  uint32_t algorithm, protocol, channels, type, device_ns, device_source, kernel_channel;
  uint32_t proxy_send, proxy_receive, proxy_step, copy_engine;
};
Names g_names;

// Attributes of the event that the call has already, or an event of its own where nobody else saw the call: NCCL's ranges
// are off, or a CUDA graph replays it.
uint64_t write_work(const Work& work, const PluginCommunicator& communicator, uint64_t type, PluginEvent& event) {
  Attribute attributes[5];
  uint32_t count = 0;
  const auto add = [&](uint32_t key, AttributeType kind, int64_t value) {
    if (value != 0) attributes[count++] = {key, kind, value};
  };
  add(g_names.algorithm, AttributeType::string, work.algorithm);
  add(g_names.protocol, AttributeType::string, work.protocol);
  add(g_names.channels, AttributeType::integer, work.channels);
  add(g_names.copy_engine, AttributeType::integer, type == EventType::copy_engine_collective ? 1 : 0);
  const uint64_t hash = work.communicator != 0 ? work.communicator : communicator.hash;
  const uint32_t name = call_name(work.call);
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
  const uint64_t where = GSD_WHERE(communicator_name(hash), 0);
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

bool is_work(uint64_t type) {
  return type == EventType::collective || type == EventType::point_to_point ||
         type == EventType::copy_engine_collective;
}

bool is_proxy(uint64_t type) { return (type & (kProxy | EventType::proxy_control)) != 0; }

}  // namespace

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
             gsd_string("nccl.proxy_step", -1),
             gsd_string("copy_engine", -1)};
}

bool is_of_this_process(uint64_t type, const void* descriptor) {
  return type != EventType::proxy_operation ||
         static_cast<uint32_t>(static_cast<const ProxyOperation*>(descriptor)->process) == spool::process_id();
}

void record_start(int version, const void* descriptor, PluginEvent* parent, PluginEvent& event) {
  const uint64_t type = event.type;
  if (is_work(type)) {
    const Work work = type == EventType::collective       ? read_collective(version, descriptor)
                      : type == EventType::point_to_point ? read_point_to_point(version, descriptor)
                                                          : read_copy_engine(descriptor);
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

void stop_kernel(uint64_t globaltimer_ns, PluginEvent& parent) {
  spool::raise_to(&parent.device_last_ns, globaltimer_ns);
  if (spool::add_relaxed(&parent.channels_running, -1) != 1) return;
  const uint64_t first = spool::load_relaxed(&parent.device_first_ns);
  const uint64_t last = spool::load_acquire(&parent.device_last_ns);
  if (first == 0 || last <= first) return;
  gsd_attr_int(parent.event, g_names.device_ns, static_cast<int64_t>(last - first));
  gsd_attr_str(parent.event, g_names.device_source, g_names.kernel_channel);
}

}  // namespace gradsync::nccl
