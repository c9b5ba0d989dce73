#include "collectors/inject/cupti_counters.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collectors/inject/collective_guard.h"
#include "collectors/inject/cupti_plan.h"
#include "collectors/inject/cupti_ranges.h"
#include "collectors/inject/cupti_turn.h"
#include "src/spool_writer/atomics.h"
#include "src/spool_writer/gsd.h"
#include "src/spool_writer/old_glibc.h"
#include "src/spool_writer/process_state.h"
#include "src/spool_writer/write_event.h"

namespace gradsync::cupti {
namespace {

enum class Stage : uint32_t { idle, ready, chosen, off };

struct Driver {
  int (*get_context)(void** context);
  int (*get_device)(int* device);
  int (*synchronize)();
};

// Zero until prepare_counters(). `turn` is held by whoever asks CUPTI.
struct Counters {
  ProfilerFunctions call;
  Driver driver;
  MetricSet metrics;
  RangeProfiler profiler;
  uint8_t* availability;
  Stage stage;
  uint32_t process, turn, given_up, busy;
  uint32_t counted_step_plus_one;  // one range in a step
  uint64_t owner;                  // the thread whose range is open, by its lane
  bool started, open, told;        // started: CUPTI's profiler is initialised
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
  if (g_counters.started) g_counters.call.deinitialize(&end);
  g_counters.started = false;
}

const char* meaning(Status status) {
  switch (status) {
    case Statuses::insufficient_privileges:
      return ": counters are reserved to the administrator";
    case Statuses::virtual_device_privileges:
      return ": the host of this virtual GPU does not allow it";
    case Statuses::virtual_device:
      return ": not on a virtual GPU";
    case Statuses::mig_device:
      return ": not on a part of a GPU (MIG)";
    case Statuses::confidential:
      return ": not with confidential computing";
    case Statuses::wsl_device:
      return ": not under WSL";
    case Statuses::not_supported:
    case Statuses::invalid_chip_name:
      return ": not on this GPU with this CUPTI";
    case Statuses::hardware_busy:
    case Statuses::several_subscribers:
    case Statuses::old_profiler:
      return ": another profiler holds the counters";
    case Statuses::invalid_metric_name:
      return ": none of the metrics can be read here in one pass";
    default:
      return "";
  }
}

void fail(Status status, const char* doing) {
  snprintf(g_counters.state, sizeof g_counters.state, "unavailable: CUPTI answers %d to %s%s", status, doing,
           meaning(status));
  turn_off(g_counters.state);
}

void refuse(const char* why) {
  snprintf(g_counters.state, sizeof g_counters.state, "unavailable: %.230s", why);
  turn_off(g_counters.state);
}

bool find_driver(Driver& driver) {
  void* library = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
  if (library == nullptr) return false;
  driver.get_context = reinterpret_cast<int (*)(void**)>(dlsym(library, "cuCtxGetCurrent"));
  driver.get_device = reinterpret_cast<int (*)(int*)>(dlsym(library, "cuCtxGetDevice"));
  driver.synchronize = reinterpret_cast<int (*)()>(dlsym(library, "cuCtxSynchronize"));
  return driver.get_context != nullptr && driver.get_device != nullptr && driver.synchronize != nullptr;
}

// --- once, in the first range: what can be read of this device ---

Status ask_device(int device, void* context, const char*& chip, const char*& doing) {
  const ProfilerFunctions& call = g_counters.call;
  doing = "starting its profiler";
  auto start = told<ProfilerInitialize>();
  if (const Status status = call.initialize(&start)) return status;
  g_counters.started = true;
  doing = "whether the device can be profiled";
  auto supported = told<DeviceSupported>();
  supported.device = device;
  supported.api = kOfRangesDevice;
  if (const Status status = call.device_supported(&supported)) return status;
  if (supported.supported != kSupported)
    return supported.vgpu != kSupported           ? Statuses::virtual_device
           : supported.confidential != kSupported ? Statuses::confidential
           : supported.wsl != kSupported          ? Statuses::wsl_device
                                                  : Statuses::not_supported;
  doing = "the name of the chip";
  auto name = told<ChipName>();
  name.device = static_cast<size_t>(device);
  if (const Status status = call.chip_name(&name)) return status;
  chip = name.name;
  doing = "which counters are free";
  auto counters = told<CounterAvailability>();
  counters.context = context;
  if (const Status status = call.counter_availability(&counters)) return status;
  g_counters.availability = static_cast<uint8_t*>(calloc(1, counters.image_bytes));
  if (g_counters.availability == nullptr) return Statuses::out_of_memory;
  counters.image = g_counters.availability;
  return call.counter_availability(&counters);
}

bool choose(void* context) {
  int device = 0;
  const char *chip = nullptr, *doing = "";
  if (g_counters.driver.get_device(&device) != 0) return refuse("the driver does not tell the device"), false;
  Status status = ask_device(device, context, chip, doing);
  if (status == Statuses::success) {
    doing = "the choice of metrics";
    status = g_counters.metrics.choose(g_counters.call, chip, g_counters.availability);
  }
  if (g_counters.metrics.refused()[0] != 0) gsd_fact("counters.refused", g_counters.metrics.refused());
  if (status != Statuses::success) return fail(status, doing), false;
  gsd_fact("counters.chip", chip);
  char names[MetricSet::kTextBytes] = "";
  for (uint32_t i = 0; i < g_counters.metrics.count(); ++i) {
    const size_t used = strlen(names);
    snprintf(names + used, sizeof names - used, "%s%s", i == 0 ? "" : ",", g_counters.metrics.names()[i]);
  }
  gsd_fact("counters.metrics", names);
  spool::store_release(&g_counters.stage, Stage::chosen);
  return true;
}

// --- results ---

// Thousandths, rounded down; attributes are integers. What is no number, or too large, is left out.
bool thousandths(double value, int64_t& whole) {
  constexpr double kMost = 9e15;
  if (!(value >= 0 && value < kMost)) return false;
  whole = static_cast<int64_t>(value * 1000);
  return true;
}

Status write_kernel(size_t kernel) {
  const MetricSet& metrics = g_counters.metrics;
  double values[MetricSet::kMost] = {};
  const RangeProfiler& profiler = g_counters.profiler;
  if (const Status status = metrics.evaluate(g_counters.call, profiler.data(), profiler.data_bytes(), kernel, values))
    return status;
  spool::Attribute attributes[MetricSet::kMost];
  uint32_t count = 0;
  for (uint32_t i = 0; i < metrics.count(); ++i) {
    int64_t whole = 0;
    if (!thousandths(values[i], whole)) continue;
    attributes[count++] = {gsd_string(metrics.names()[i], -1), spool::AttributeType::integer, whole};
  }
  const spool::What what{spool::Kind::mark, spool::Phase::none, spool::Source::cupti, 0,
                         gsd_string("gpu_counters", -1)};
  const int64_t at = g_counters.began_ns;
  spool::write_event(
      spool::t_lane, what, 0, GSD_WHERE(0, kernel),
      [at] {
        return spool::Span{at, at};
      },
      attributes, count);
  return Statuses::success;
}

void write_range() {
  const RangeProfiler& profiler = g_counters.profiler;
  for (size_t i = 0; i < profiler.kernels(); ++i)
    if (const Status status = write_kernel(i)) return fail(status, "evaluating counters");
  const uint64_t event =
      gsd_event(GSD_WHAT(spool::Kind::mark, 0, spool::Source::cupti, 0, gsd_string("gpu_counters_range", -1)), 0, 0,
                g_counters.began_ns, g_counters.began_ns);
  gsd_attr_int(event, gsd_string("kernels", -1), static_cast<int64_t>(profiler.kernels()));
  gsd_attr_int(event, gsd_string("dropped", -1), static_cast<int64_t>(profiler.dropped()));
  gsd_attr_int(event, gsd_string("cost_ns", -1), spool::now() - g_counters.asked_ns);
  if (profiler.kernels() > 0) tell("collected");
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
  write_range();
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
