#include "collectors/inject/cupti/counters.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collectors/inject/cupti/collective_guard.h"
#include "collectors/inject/cupti/counted_device.h"
#include "collectors/inject/cupti/counter_events.h"
#include "collectors/inject/cupti/plan.h"
#include "collectors/inject/cupti/turn.h"
#include "src/spool_writer/atomics.h"
#include "src/spool_writer/gsd.h"
#include "src/spool_writer/kernel.h"
#include "src/spool_writer/lane.h"
#include "src/spool_writer/old_glibc.h"
#include "src/spool_writer/process_state.h"

namespace gradsync::cupti {
namespace {

enum class Stage : uint32_t { idle, ready, chosen, off };

// Zero until prepare_counters(). `turn` is held by whoever asks CUPTI.
struct Counters {
  ProfilerFunctions call;
  Driver driver;
  MetricSet metrics;
  RangeProfiler profiler;
  CountedDevice device;
  Stage stage;
  uint32_t process, turn, given_up, busy;
  uint32_t counted_step_plus_one;  // one range in a step
  uint64_t owner;                  // the thread whose range is open, by its lane
  bool open, told;
  int64_t began_ns, asked_ns;
  char state[256];
};
Counters g_counters;

bool is_ours() { return g_counters.process != 0 && g_counters.process == spool::process_id(); }
uint64_t this_thread() { return reinterpret_cast<uint64_t>(&spool::t_lane); }
bool is_on(Stage stage) { return stage == Stage::ready || stage == Stage::chosen; }

void tell(const char* state) {
  if (g_counters.told) return;
  g_counters.told = true;
  gsd_fact("counters", state);
}

// With the turn taken, or before anything could be counted.
void turn_off(const char* state) {
  spool::store_release(&g_counters.stage, Stage::off);
  spool::store_release(&g_collective_guard.armed, 0U);
  tell(state);
  g_counters.metrics.release(g_counters.call);
  auto end = told<ProfilerInitialize>();
  if (g_counters.device.started) g_counters.call.deinitialize(&end);
  g_counters.device.started = false;
}

void fail(Status status, const char* doing) {
  snprintf(g_counters.state, sizeof g_counters.state, "unavailable: CUPTI answers %d to %s%s", status, doing,
           meaning_of(status));
  turn_off(g_counters.state);
}

void refuse(const char* why) {
  snprintf(g_counters.state, sizeof g_counters.state, "unavailable: %.230s", why);
  turn_off(g_counters.state);
}

// --- once, in the first range: what can be read of this device ---

bool choose(void* context) {
  int device = 0;
  const char* doing = "";
  if (g_counters.driver.get_device(&device) != 0) return refuse("the driver does not tell the device"), false;
  Status status = ask_device(g_counters.call, device, context, g_counters.device, doing);
  if (status == Statuses::success) {
    doing = "the choice of metrics";
    status = g_counters.metrics.choose(g_counters.call, g_counters.device.chip, g_counters.device.availability);
  }
  if (g_counters.metrics.refused()[0] != 0) gsd_fact("counters.refused", g_counters.metrics.refused());
  if (status != Statuses::success) return fail(status, doing), false;
  gsd_fact("counters.chip", g_counters.device.chip);
  char names[MetricSet::kTextBytes] = "";
  for (uint32_t i = 0; i < g_counters.metrics.count(); ++i) {
    const size_t used = strlen(names);
    snprintf(names + used, sizeof names - used, "%s%s", i == 0 ? "" : ",", g_counters.metrics.names()[i]);
  }
  gsd_fact("counters.metrics", names);
  spool::store_release(&g_counters.stage, Stage::chosen);
  return true;
}

// --- one range; with the turn taken ---

bool open_range() {
  void* context = nullptr;
  if (g_counters.driver.get_context(&context) != 0 || context == nullptr) return false;  // a bucket of the CPU
  if (g_counters.stage == Stage::ready && !choose(context)) return false;
  spool::store_ordered(&g_collective_guard.counting, 1U);
  if (spool::load_ordered(&g_collective_guard.open) != 0) return ++g_counters.busy, false;
  if (g_counters.driver.synchronize() != 0) return refuse("the device reports an error"), false;
  if (const Status status = g_counters.profiler.open(g_counters.call, context, g_counters.metrics))
    return fail(status, "counting"), false;
  g_counters.owner = this_thread();
  g_counters.began_ns = spool::now();
  return true;
}

void close_range() {
  g_counters.driver.synchronize();
  const Status status = g_counters.profiler.close(g_counters.call);
  g_counters.open = false;
  spool::store_ordered(&g_collective_guard.counting, 0U);
  if (status != Statuses::success) return fail(status, "reading counters");
  const CountedRange range{g_counters.call, g_counters.metrics, g_counters.profiler, g_counters.began_ns,
                           g_counters.asked_ns};
  if (const Status told = write_counted_range(range)) return fail(told, "evaluating counters");
  if (g_counters.profiler.kernels() > 0) tell("collected");
}

// A call of NCCL on another thread: what was read has lost its end.
void give_up_range() {
  g_counters.profiler.abandon(g_counters.call);
  g_counters.open = false;
  spool::store_ordered(&g_collective_guard.counting, 0U);
  ++g_counters.given_up;
}

void before_collective() {
  if (!is_ours()) return;
  if (g_counters.owner == this_thread() && g_counters.open) return end_counting();
  if (!take_turn(g_counters.turn)) return;
  if (g_counters.open) give_up_range();
  spool::store_release(&g_counters.turn, 0U);
}

void arm() {
  g_collective_guard.open = g_collective_guard.seen = 0;
  spool::store_release(&g_collective_guard.end_range, &before_collective);
  spool::store_release(&g_collective_guard.armed, 1U);
}

void finish_steps() {
  spool::store_release(&g_collective_guard.armed, 0U);
  const Turn turn(g_counters.turn);
  if (!turn.taken() || !is_on(g_counters.stage)) return;
  if (g_counters.open) give_up_range();
  turn_off(g_counters.given_up > 0 ? "unavailable: a collective began on another thread each time"
           : spool::load_relaxed(&g_collective_guard.seen) == 0
               ? "unavailable: no call of NCCL could be seen, so its kernels could not be told apart"
           : g_counters.busy > 0 ? "unavailable: a call of NCCL was under way each time a bucket began"
           : g_counters.stage == Stage::chosen
               ? "unavailable: no kernel was launched before the first collective of a bucket"
               : "unavailable: no bucket of a communication hook began on a GPU in the steps that are counted");
}

}  // namespace

bool counters_are_wanted() {
  const char* names = secure_getenv("GSD_COUNTERS");
  return names != nullptr && *names != 0;
}

void prepare_counters(uint32_t step, const Library* library, const char* why) {
  if (step == kCountedFrom + kCountedSteps) return finish_steps();
  if (!guards(step) || g_counters.stage == Stage::off) return;
  if (library == nullptr) return turn_off(why);
  if (g_counters.stage == Stage::idle) {
    g_counters.process = spool::process_id();
    g_counters.metrics.parse(secure_getenv("GSD_COUNTERS"));
    if (!find_driver(g_counters.driver)) return refuse("no driver is loaded that tells the context");
    if (find_profiler(library->handle, g_counters.call) != nullptr)
      return refuse("this CUPTI has no range profiler: it comes with CUDA 12.6");
    spool::store_release(&g_counters.stage, Stage::ready);
    arm();
  }
}

void begin_counting() {
  const uint32_t step = gsd_current_step();
  if (!is_ours() || step == spool::kNoStep || !counts(step) || !is_on(spool::load_acquire(&g_counters.stage))) return;
  if (g_counters.counted_step_plus_one == step + 1) return;
  if (spool::load_relaxed(&g_collective_guard.seen) == 0) return;  // so far NCCL's calls pass by unseen
  const Turn turn(g_counters.turn);
  if (!turn.taken() || g_counters.open) return;
  g_counters.counted_step_plus_one = step + 1;
  g_counters.asked_ns = spool::now();
  g_counters.open = open_range();
  if (!g_counters.open) spool::store_ordered(&g_collective_guard.counting, 0U);
}

void end_counting() {
  if (!is_ours() || spool::load_acquire(&g_collective_guard.counting) == 0) return;
  if (!take_turn(g_counters.turn)) return;
  if (g_counters.open && g_counters.owner == this_thread())
    close_range();
  else if (g_counters.open)
    give_up_range();
  spool::store_release(&g_counters.turn, 0U);
}

void yield_counters(const char* why) {
  if (!is_ours() || !take_turn(g_counters.turn)) return;
  if (g_counters.open) give_up_range();
  if (is_on(g_counters.stage)) turn_off(why);
  spool::store_release(&g_counters.turn, 0U);
}

void tell_counters_at_exit() {
  if (is_ours() && is_on(spool::load_acquire(&g_counters.stage)))
    tell("unavailable: the job ended before the steps that are counted were over");
}

}  // namespace gradsync::cupti
