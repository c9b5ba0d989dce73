// A lane is one thread's place in the spool: the chunk that it fills and the slot that comes next.
//
// The hot path touches only this thread's lane and its chunk: no system call, no locked instruction, no shared cache
// line. `room` is 0 for a thread that has no chunk, so that one comparison covers "never started" and "chunk full";
// the epoch covers "forked since".
//
//   Busy busy(lane);                 // refuses when a signal handler interrupted us: its event is counted, not kept
//   if (Record* r = claim(lane, 1))  // may open the spool, take a chunk, write pending strings
//     fill(*r), publish(lane, 1);
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "src/spool_writer/atomics.h"
#include "src/spool_writer/process_state.h"
#include "src/spool_writer/spool_format.h"

namespace gradsync::spool {

enum class Refusal : uint32_t { off, full, no_space };

struct Lane {
  Record* chunk;   // where it is mapped
  uint32_t room;   // slots left in it
  uint32_t next;   // slot to write
  uint32_t epoch;  // spool that the chunk belongs to
  uint32_t ordinal;
  uint32_t chunk_index;
  uint32_t busy;    // 1 while this thread is inside the writer
  uint32_t calls;   // since the last account of self time
  Refusal refusal;  // why the last claim failed

  // Only when g_process is set.
  static uint32_t process_epoch() { return load_relaxed(&g_process->epoch); }
};

// Zero for a new thread. __thread, not thread_local: no initialiser function of libstdc++ on access.
extern __thread Lane t_lane __attribute__((visibility("hidden")));

// The key whose destructor gives a dying thread's chunk to the next one.
bool make_lane_key();

class Busy {
 public:
  explicit Busy(Lane& lane) : lane_(lane), entered_(lane.busy == 0) {
    lane_.busy = 1;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
  }
  ~Busy() {
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    if (entered_) lane_.busy = 0;
  }
  Busy(const Busy&) = delete;
  Busy& operator=(const Busy&) = delete;
  bool entered() const { return entered_; }

 private:
  Lane& lane_;
  bool entered_;
};

Record* claim_slow(Lane& lane, uint32_t records);

// `records` consecutive empty slots of this thread's chunk, or null. The lane must be busy.
inline Record* claim(Lane& lane, uint32_t records) {
  if (__builtin_expect(lane.room >= records && lane.epoch == Lane::process_epoch(), 1)) return lane.chunk + lane.next;
  return claim_slow(lane, records);
}

// Makes claimed and filled slots visible to readers of the file.
inline void publish(Lane& lane, uint32_t records) {
  lane.next += records;
  lane.room -= records;
  store_release(&reinterpret_cast<ChunkHeader*>(lane.chunk)->used, lane.next);
}

// What callers hold: the record's index in the file and, above it, the epoch - 1. A child process that inherits a
// reference of its parent cannot touch its own records with it; in a process that never forked it is the bare index.
inline uint64_t reference_of(const Lane& lane, const Record* record) {
  const uint64_t first = uint64_t{lane.chunk_index} * kRecordsPerChunk;
  return uint64_t{lane.epoch - 1} << 32 | (first + static_cast<uint64_t>(record - lane.chunk));
}

// What the file holds: the bare index; kNoEvent for a reference of another epoch.
inline uint64_t index_of(uint64_t reference) {
  if (g_process == nullptr || reference >> 32 != Lane::process_epoch() - 1) return kNoEvent;
  return static_cast<uint32_t>(reference);
}

// The event behind a reference of this process's spool; null when there is none. Any thread.
inline Record* event_at(uint64_t reference) {
  const uint64_t index = index_of(reference);
  if (index % kRecordsPerChunk == 0 || index / kRecordsPerChunk >= kMaxChunks) return nullptr;
  Record* chunk = load_acquire(&g_process->mapped[index / kRecordsPerChunk]);
  if (chunk == nullptr) return nullptr;
  Record* record = chunk + index % kRecordsPerChunk;
  return record->kind >= Kind::step ? record : nullptr;
}

// Counts an event that the last claim refused, or another loss, in the header.
void count_refused(const Lane& lane);
void count_lost(uint64_t SpoolHeader::*counter);

// Adds the calls since the last time to the header's self_ns.
void account_self_time(Lane& lane, uint64_t extra_ns);

// Cost of one call in nanoseconds, measured in at most 50 µs. Reading the clock around every call would cost as much
// as the call: self time is calls × this. A warm loop is the lower end of the truth; chunk changes are timed as such.
uint32_t measure_call_ns();

}  // namespace gradsync::spool
