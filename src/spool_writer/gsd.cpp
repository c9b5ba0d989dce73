#include "src/spool_writer/gsd.h"

#include <errno.h>
#include <string.h>

#include "src/spool_writer/kernel.h"
#include "src/spool_writer/lane.h"
#include "src/spool_writer/step_listener.h"
#include "src/spool_writer/strings.h"
#include "src/spool_writer/write_event.h"

using namespace gradsync::spool;

gradsync::spool::StepListener gradsync::spool::g_step_listener = nullptr;

namespace {

uint32_t length_of(const char* text, int64_t length) {
  const uint64_t bytes = length < 0 ? strnlen(text, kMaxStringBytes + 1) : static_cast<uint64_t>(length);
  return static_cast<uint32_t>(bytes < kMaxStringBytes + 1 ? bytes : kMaxStringBytes + 1);
}

void write_attribute(uint64_t target, uint32_t key, AttributeType type, int64_t value) {
  Lane& lane = t_lane;
  Busy busy(lane);
  if (!busy.entered()) return count_lost(&SpoolHeader::dropped_nested);
  ++lane.calls;
  Record* room = claim(lane, 1);
  if (room == nullptr) return count_refused(lane);
  fill_attribute(room, target, {key, type, value});
  publish(lane, 1);
}

}  // namespace

extern "C" {

uint32_t gsd_abi_version(void) { return GSD_ABI_VERSION; }

int gsd_enabled(void) { return g_process != nullptr && load_relaxed(&g_process->opening) != Opening::impossible; }

int64_t gsd_now(void) { return now(); }

uint32_t gsd_string(const char* text, int64_t length) {
  if (g_process == nullptr || text == nullptr) return 0;
  return string_id(t_lane, text, length_of(text, length));
}

uint64_t gsd_begin(uint64_t what, uint64_t bytes, uint64_t where) {
  return begin_event(t_lane, What::unpack(what), bytes, where);
}

void gsd_end(uint64_t event) { end_event(event); }

uint64_t gsd_event(uint64_t what, uint64_t bytes, uint64_t where, int64_t start_ns, int64_t end_ns) {
  return write_event(t_lane, What::unpack(what), bytes, where, [=] { return Span{start_ns, end_ns}; });
}

// The correlation is a reference of ours, or a device's number, which must stay as it is.
void gsd_link(uint64_t event, uint64_t correlation) {
  const uint64_t index = index_of(correlation);
  if (Record* record = event_at(event)) store_relaxed(&record->correlation, index != kNoEvent ? index : correlation);
}

void gsd_attr_int(uint64_t event, uint32_t key, int64_t value) {
  const uint64_t target = index_of(event);
  if (target != kNoEvent && key != 0) write_attribute(target, key, AttributeType::integer, value);
}

void gsd_attr_str(uint64_t event, uint32_t key, uint32_t value) {
  const uint64_t target = index_of(event);
  if (target != kNoEvent && key != 0) write_attribute(target, key, AttributeType::string, value);
}

void gsd_fact(const char* key, const char* value) {
  if (g_process == nullptr || key == nullptr || value == nullptr) return;
  const uint32_t key_id = gsd_string(key, -1);
  if (key_id != 0) write_attribute(kProcess, key_id, AttributeType::string, gsd_string(value, -1));
}

uint64_t gsd_step(int64_t boundary_ns, uint32_t variant, uint32_t deep) {
  ProcessState* process = g_process;
  if (process == nullptr) return kNoEvent;
  const uint32_t number = add_relaxed(&process->step_plus_one, 1u);
  const StepListener listener = load_acquire(&g_step_listener);
  const uint32_t told = listener == nullptr ? 0 : listener(number);
  const bool is_deep = deep != 0 || (told & kStepDeep) != 0;
  const What what{Kind::step, Phase::none, Source::torch_hook, is_deep ? kFlagDeep : uint8_t{0}, 0};
  const uint64_t opened = write_event(t_lane, what, 0, GSD_WHERE(variant, 0), [=] { return Span{boundary_ns, 0}; });
  if ((told & kStepCounters) != 0) gsd_attr_int(opened, gsd_string("counters", -1), 1);
  const uint64_t closed = swap(&process->open_step, opened);
  if (Record* record = event_at(closed)) close_record(record, boundary_ns);
  return opened;
}

void gsd_step_deep(void) {
  if (g_process == nullptr) return;
  if (Record* record = event_at(load_relaxed(&g_process->open_step))) {
    __atomic_fetch_or(&record->flags, kFlagDeep, __ATOMIC_RELAXED);
  }
}

uint32_t gsd_current_step(void) { return g_process == nullptr ? kNoStep : load_relaxed(&g_process->step_plus_one) - 1; }

uint64_t gsd_window(uint32_t file) { return gsd_begin(GSD_WHAT(Kind::window, 0, Source::profiler, 0, file), 0, 0); }

void gsd_window_close(uint64_t window) { gsd_end(window); }

void gsd_self_ns(uint64_t ns) {
  if (g_process == nullptr) return;
  const bool open = load_acquire(&g_process->opening) == Opening::done;
  add_relaxed(open ? &g_process->header->self_ns : &g_process->self_before_open_ns, ns);
}

void gsd_goodbye(void) {
  if (g_process == nullptr) return;
  const int saved_errno = errno;
  Lane& lane = t_lane;
  if (lane.epoch != 0 && lane.epoch == Lane::process_epoch()) {
    account_self_time(lane, 0);
    Busy busy(lane);
    if (busy.entered() && swap(&g_process->unwritten_strings, 0u) != 0) write_missing_strings(lane);
  }
  say_goodbye(*g_process);
  errno = saved_errno;
}
}

namespace {

// The environment is read here, once: afterwards the job may change it, and getenv would race with setenv.
__attribute__((constructor)) void load() { configure(ForkGuard::kernel_or_handler); }

__attribute__((destructor)) void unload() { gsd_goodbye(); }

}  // namespace
