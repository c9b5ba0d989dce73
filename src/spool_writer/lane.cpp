#include "src/spool_writer/lane.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>

#include "src/spool_writer/chunks.h"
#include "src/spool_writer/kernel.h"
#include "src/spool_writer/old_glibc.h"
#include "src/spool_writer/strings.h"

namespace gradsync::spool {

__thread Lane t_lane;

namespace {

pthread_key_t g_key;
bool g_key_made = false;

// Other destructors of the same thread may still write events: they start a new lane, and this runs again.
void end_of_thread(void* value) {
  auto* lane = static_cast<Lane*>(value);
  if (g_process == nullptr || lane->epoch == 0 || lane->epoch != Lane::process_epoch()) return;
  const int saved_errno = errno;
  account_self_time(*lane, 0);
  leave_chunk(*lane, *g_process);
  lane->epoch = 0;
  errno = saved_errno;
}

// First event of this thread in this spool: a new thread, or the one that came through fork.
void start_lane(Lane& lane, ProcessState& process) {
  lane.chunk = nullptr;
  lane.room = 0;
  lane.calls = 0;
  lane.epoch = load_relaxed(&process.epoch);
  lane.ordinal = add_relaxed(&process.lanes, 1u);
  pthread_setspecific(g_key, &lane);
}

}  // namespace

bool make_lane_key() {
  if (!g_key_made) g_key_made = pthread_key_create(&g_key, end_of_thread) == 0;
  return g_key_made;
}

Record* claim_slow(Lane& lane, uint32_t records) {
  if (g_process == nullptr) {
    lane.refusal = Refusal::off;
    return nullptr;
  }
  ProcessState& process = *g_process;
  const int saved_errno = errno;
  const int64_t began = now();
  bool taken = false;
  if (!ensure_open(process, began)) {
    lane.refusal = load_relaxed(&process.opening) == Opening::impossible ? Refusal::off : Refusal::no_space;
  } else {
    if (lane.epoch != load_relaxed(&process.epoch)) start_lane(lane, process);
    if (lane.chunk != nullptr && lane.room < records) leave_chunk(lane, process);
    taken = lane.chunk != nullptr || take_chunk(lane, process, records);
    if (taken && load_relaxed(&process.unwritten_strings) != 0 && swap(&process.unwritten_strings, 0u) != 0) {
      write_missing_strings(lane);
      taken = lane.room >= records || claim_slow(lane, records) != nullptr;
    }
    if (taken) account_self_time(lane, static_cast<uint64_t>(now() - began));
  }
  errno = saved_errno;
  return taken ? lane.chunk + lane.next : nullptr;
}

void count_lost(uint64_t SpoolHeader::*counter) {
  ProcessState* process = g_process;
  if (process == nullptr) return;
  const bool open = load_acquire(&process->opening) == Opening::done;
  add_relaxed(open ? &(process->header->*counter) : &process->lost_before_open, uint64_t{1});
}

void count_refused(const Lane& lane) {
  if (lane.refusal == Refusal::off) return;
  count_lost(lane.refusal == Refusal::full ? &SpoolHeader::dropped_full : &SpoolHeader::dropped_no_space);
}

void account_self_time(Lane& lane, uint64_t extra_ns) {
  const uint64_t calls = lane.calls;
  lane.calls = 0;
  add_relaxed(&g_process->header->self_ns, calls * g_process->calibrated_ns + extra_ns);
}

uint32_t measure_call_ns() {
  constexpr int kCalls = 256;
  static Record scratch[8];
  const int64_t began = now();
  for (int i = 0; i < kCalls; ++i) {
    Record& record = scratch[i % 8];
    record.start_ns = now();
    record.bytes = static_cast<uint64_t>(i);
    __asm__ volatile("" : : "r"(&record) : "memory");
  }
  return static_cast<uint32_t>((now() - began) / kCalls);
}

}  // namespace gradsync::spool
