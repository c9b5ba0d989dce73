#include "collectors/inject/cupti/activity.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

#include "collectors/inject/cupti/conflict.h"
#include "collectors/inject/cupti/counters.h"
#include "collectors/inject/cupti/reader.h"
#include "collectors/inject/cupti/session.h"
#include "collectors/inject/cupti/turn.h"
#include "src/spool_writer/atomics.h"
#include "src/spool_writer/gsd.h"
#include "src/spool_writer/kernel.h"
#include "src/spool_writer/old_glibc.h"
#include "src/spool_writer/process_state.h"
#include "src/spool_writer/step_listener.h"

namespace gradsync::cupti {
namespace {

enum class Stage : uint32_t { idle, waiting, open, off };

constexpr int64_t kSecondNs = 1'000'000'000;
constexpr int64_t kSlackNs = kSecondNs;  // records of work that was launched before the window opened
constexpr uint32_t kDrainRounds = 3;     // seconds after a window in which its last records come
// A job whose steps nobody reports is watched for a while by the clock.
constexpr int64_t kUnsteppedAfterNs = 10 * kSecondNs, kUnsteppedForNs = 5 * kSecondNs;

// Zero until begin(). A forked child inherits it, with a process id that is not its own: nothing is done there.
struct Collector {
  Session session;
  Plan plan;
  Calls calls;
  Stage stage;
  uint32_t process;
  uint32_t changing;  // 1 = a thread opens or closes
  uint32_t drain;     // rounds in which it still flushes after a window
  uint32_t leaving;
  uint32_t unstepped;  // 1 = opened by the clock
  uint32_t renounced;  // 1 = the job profiled itself before CUDA started
  int64_t began_ns, opened_ns;
  uint64_t window;
  uint64_t requests_before, overhead_before, cost_ns;
  const char* state;  // what the fact "cupti" says
  bool told, counters;
  char why[256];
};
Collector g_collector;

bool is_ours() { return g_collector.process != 0 && g_collector.process == spool::process_id(); }

// --- what the report is told ---

// Only where a spool is open or the process trains: one that merely starts CUDA shall not leave a recording.
void tell() {
  if (g_collector.told || g_collector.state == nullptr) return;
  g_collector.told = true;
  gsd_fact("cupti", g_collector.state);
  const Library& library = g_collector.session.library();
  if (library.version == 0) return;
  char version[16];
  snprintf(version, sizeof version, "%u", library.version);
  gsd_fact("cupti.version", version);
  if (library.path[0] != 0) gsd_fact("cupti.library", library.path);
  gsd_fact("cupti.clock", g_collector.session.stamps_monotonic() ? "CLOCK_MONOTONIC" : "measured offset");
}

void say(const char* state) {
  g_collector.state = state;
  g_collector.told = false;
}

void refuse(const char* state) {
  say(state);
  spool::store_release(&g_collector.stage, Stage::off);
}

// --- reading ---

bool read_all() {
  const int64_t began = spool::now();
  if (!g_reader.read_all(g_collector.session, g_collector.opened_ns - kSlackNs)) return false;
  if (g_collector.plan.watch != Watch::windows) gsd_self_ns(static_cast<uint64_t>(spool::now() - began));
  return true;
}

// What CUPTI itself took in the window, once its last records are there.
void tell_overhead() {
  const uint64_t overhead = g_reader.overhead_ns() - g_collector.overhead_before;
  if (g_collector.window == 0 || overhead == 0) return;
  gsd_attr_int(g_collector.window, gsd_string("overhead_ns", -1), static_cast<int64_t>(overhead));
  g_collector.window = 0;
}

// --- on and off; with the turn taken ---

void open() {
  g_collector.opened_ns = spool::now();
  g_collector.requests_before = g_reader.requests();
  g_collector.overhead_before = g_reader.overhead_ns();
  if (const Status status =
          g_collector.session.enable(Reader::requested, Reader::completed, g_collector.plan.watch, g_collector.calls)) {
    snprintf(g_collector.why, sizeof g_collector.why, "unavailable: CUPTI answers %d%s", status,
             status == Statuses::several_subscribers       ? ", another profiler holds it"
             : status == Statuses::insufficient_privileges ? ", profiling is reserved to the administrator"
             : status == Statuses::not_initialized         ? ", it does not fit the driver"
                                                           : "");
    refuse(g_collector.why);
    return tell();
  }
  spool::store_release(&g_collector.stage, Stage::open);
  const uint64_t what = GSD_WHAT(spool::Kind::window, 0, spool::Source::cupti, 0, gsd_string("cupti_window", -1));
  g_collector.window = gsd_event(what, 0, 0, g_collector.opened_ns, 0);
  say("collected");
  tell();
  g_collector.cost_ns = static_cast<uint64_t>(spool::now() - g_collector.opened_ns);
  g_reader.wake();
}

void close() {
  const int64_t began = spool::now();
  g_collector.session.disable();
  spool::store_release(&g_collector.stage, Stage::waiting);
  gsd_end(g_collector.window);
  const uint64_t cost = g_collector.cost_ns + static_cast<uint64_t>(spool::now() - began);
  gsd_attr_int(g_collector.window, gsd_string("cost_ns", -1), static_cast<int64_t>(cost));
  spool::store_release(&g_collector.drain, kDrainRounds);
  if (g_collector.requests_before == g_reader.requests()) {
    refuse("unavailable: no record came, nothing ran on a device or another tool took CUPTI's buffers");
    tell();
  }
  g_reader.wake();
}

// Counters and records do not go together: what the last window holds back is brought first.
void before_counters(uint32_t step) {
  if (step != kCountedFrom || spool::load_acquire(&g_collector.drain) == 0) return;
  g_collector.session.flush(kFlushForced);
  if (!read_all()) return;  // the reader's thread does
  tell_overhead();
  spool::store_release(&g_collector.drain, 0u);
}

uint32_t marks(Stage before, uint32_t step) {
  const bool open_in_it = before == Stage::open || spool::load_acquire(&g_collector.stage) == Stage::open;
  return (g_collector.plan.watch == Watch::windows && open_in_it ? spool::kStepDeep : 0) |
         (g_collector.counters && counts(step) ? spool::kStepCounters : 0);
}

uint32_t at_step(uint32_t step) {
  if (!is_ours()) return 0;
  const int saved_errno = errno;
  tell();
  const Turn turn(g_collector.changing);
  const Stage before = spool::load_acquire(&g_collector.stage);
  if (turn.taken() && before == Stage::waiting && watches(g_collector.plan, step)) open();
  if (turn.taken() && before == Stage::open && !watches(g_collector.plan, step)) close();
  if (turn.taken() && g_collector.counters) {
    const bool waiting = spool::load_acquire(&g_collector.stage) == Stage::waiting;
    if (waiting) before_counters(step);
    const bool off = spool::load_acquire(&g_collector.stage) == Stage::off;
    prepare_counters(step, waiting ? &g_collector.session.library() : nullptr,
                     off ? g_collector.state : "unavailable: the device is being watched");
  }
  errno = saved_errno;
  return marks(before, step);
}

// --- the reader's thread ---

// Steps that nobody reports: one stretch of time stands for them.
void watch_by_clock() {
  if (g_collector.plan.watch != Watch::windows || gsd_current_step() != spool::kNoStep) return;
  const Turn turn(g_collector.changing);
  if (!turn.taken()) return;
  const int64_t now = spool::now();
  if (g_collector.stage == Stage::waiting && g_collector.unstepped == 0 &&
      now - g_collector.began_ns >= kUnsteppedAfterNs) {
    g_collector.unstepped = 1;
    open();
  } else if (g_collector.stage == Stage::open && now - g_collector.opened_ns >= kUnsteppedForNs) {
    close();
  }
}

void one_round() {
  const bool open_now = spool::load_acquire(&g_collector.stage) == Stage::open;
  const uint32_t rounds = spool::load_acquire(&g_collector.drain);
  if (!open_now && rounds == 0) return;
  const bool last = !open_now && rounds == 1;  // what a kernel of the window still holds back is given up
  g_collector.session.flush(last ? kFlushForced : 0);
  read_all();
  if (last) tell_overhead();
  if (!open_now) spool::replace(&g_collector.drain, rounds, rounds - 1);
}

void* reader(void*) {
  syscall(SYS_prctl, PR_SET_NAME, "gsd-cupti", 0, 0, 0);
  while (spool::load_acquire(&g_collector.leaving) == 0) {
    const uint32_t seen = g_reader.seen();
    one_round();
    watch_by_clock();
    g_reader.sleep(seen);
  }
  return nullptr;
}

// The job's signals are not for this thread.
bool start_reader() {
  sigset_t all, before;
  sigfillset(&all);
  pthread_attr_t detached;
  if (pthread_attr_init(&detached) != 0) return false;
  pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
  sigprocmask(SIG_BLOCK, &all, &before);
  pthread_t thread;
  const bool started = pthread_create(&thread, &detached, reader, nullptr) == 0;
  sigprocmask(SIG_SETMASK, &before, nullptr);
  pthread_attr_destroy(&detached);
  return started;
}

// Closes, and brings what CUPTI has.
void close_and_read() {
  if (spool::load_acquire(&g_collector.stage) == Stage::open) close();
  if (g_collector.opened_ns == 0) return;
  g_collector.session.flush(kFlushForced);
  for (int i = 0; i < 2000 && !read_all(); ++i) {
    const struct timespec millisecond = {0, 1'000'000};
    nanosleep(&millisecond, nullptr);
  }
  tell_overhead();
}

constexpr const char* kJobsOwn = "yielded: the job's own profiler uses CUPTI";

void prepare() {
  if (spool::load_acquire(&g_collector.renounced) != 0) return refuse(kJobsOwn);
  if (const char* tool = other_tool()) {
    snprintf(g_collector.why, sizeof g_collector.why, "yielded: %s holds CUPTI in this process", tool);
    return refuse(g_collector.why);
  }
  char missing[256];
  if (const char* reason = g_collector.session.load(missing)) {
    snprintf(g_collector.why, sizeof g_collector.why, "unavailable: %.200s", reason);
    return refuse(g_collector.why);
  }
  g_collector.session.choose_clock();
  g_reader.prepare();
  g_collector.began_ns = spool::now();
  spool::store_release(&g_collector.stage, Stage::waiting);
  if (!start_reader()) return refuse("unavailable: no thread could be started");
  const bool from_the_start = g_collector.plan.watch == Watch::always ||
                              (g_collector.plan.watch == Watch::range && g_collector.plan.first == 0);
  const Turn turn(g_collector.changing);
  if (from_the_start && turn.taken()) open();
}

}  // namespace

void begin() {
  const Plan plan = parse_plan(secure_getenv("GSD_CUPTI"));
  if (plan.watch == Watch::never || gsd_enabled() == 0) return;
  if (g_collector.process != 0) return;  // again, or in a child whose parent had CUDA: it cannot use it
  g_collector.process = spool::process_id();
  g_collector.plan = plan;
  g_collector.calls = parse_calls(secure_getenv("GSD_CUPTI_CALLS"));
  g_collector.counters = plan.watch == Watch::windows && counters_are_wanted();
  prepare();
  spool::store_release(&spool::g_step_listener, &at_step);
  atexit(finish);
}

void yield_to_job() {
  if (g_collector.process == 0) return spool::store_release(&g_collector.renounced, 1u);
  if (!is_ours() || spool::load_acquire(&g_collector.stage) == Stage::off) return;
  yield_counters(kJobsOwn);
  if (!take_turn(g_collector.changing)) return;
  close_and_read();
  spool::store_release(&g_collector.drain, 0u);
  refuse(kJobsOwn);
  tell();
  spool::store_release(&g_collector.changing, 0u);
}

void finish() {
  if (!is_ours() || spool::swap(&g_collector.leaving, 1u) != 0) return;
  g_reader.wake();
  if (!take_turn(g_collector.changing)) return;
  if (spool::load_acquire(&g_collector.stage) != Stage::off || g_collector.drain != 0) close_and_read();
  if (spool::load_acquire(&spool::g_process->opening) == spool::Opening::done) {
    tell();
    tell_counters_at_exit();
  }
  spool::store_release(&g_collector.stage, Stage::off);
}

}  // namespace gradsync::cupti
