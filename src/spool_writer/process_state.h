// Everything about the spool of *this* process that a forked child must not inherit.
//
// It lives in anonymous memory that the kernel clears in a forked child (MADV_WIPEONFORK; a pthread_atfork handler
// does it on kernels before 4.14). A child therefore starts with epoch 0 and no spool, without any lock that another
// thread of the parent may have held. The parent's mapped chunks stay mapped in the child and are never used there:
// a lane is valid only for the epoch it was made in.
//
// Any thread may use it: fields are plain integers changed with atomics; there is no lock anywhere in the writer.
#pragma once

#include <stdint.h>

#include "src/spool_writer/spool_format.h"

namespace gradsync::spool {

enum class Opening : uint32_t { not_yet = 0, in_progress = 1, done = 2, impossible = 3 };

inline constexpr int kPathBytes = 4096;
inline constexpr int64_t kRetryNs = 100'000'000;  // after a refused reservation nobody asks the disk again sooner

struct ProcessState {
  uint32_t epoch;  // 0 = no spool (yet); else the number of the spool among those of our line of forks
  Opening opening;
  uint32_t max_chunks;
  uint32_t chunks;             // indices given out
  uint32_t lanes;              // ordinals given out
  uint32_t step_plus_one;      // 0 = no step yet
  uint32_t unwritten_strings;  // 1 = some interned string is missing in the file
  uint32_t calibrated_ns;      // cost of one call, see self_time.h
  uint64_t open_step;          // reference of the running step's record
  int64_t retry_at_ns;         // no reservation before this moment
  uint64_t lost_before_open;   // events refused while there was no header to count them in
  uint64_t self_before_open_ns;
  SpoolHeader* header;
  uint64_t device;  // the spool's identity: its path is opened again for every chunk
  uint64_t inode;
  uint64_t ready[kMaxChunks / 64];    // bit = a mapped chunk that no thread has begun
  uint64_t idle[kMaxChunks / 64];     // bit = a begun chunk with room whose thread ended
  uint64_t refused[kMaxChunks / 64];  // bit = an index whose space the disk refused so far
  Record* mapped[kMaxChunks];         // where a chunk is mapped; null = not yet
  char path[kPathBytes];
};

// Null when nothing is recorded (no GSD_RECORDING). Set once, before any thread can ask.
extern ProcessState* g_process;

// NVTX client libraries that attached to this process image; children inherit the filled tables, hence the count.
extern uint64_t g_nvtx_inits;

enum class ForkGuard { kernel_or_handler, handler_only };

// Reads GSD_RECORDING and GSD_MAX_CHUNKS. The library does it when it is loaded; again only in tests.
void configure(ForkGuard guard);

// True when the spool is open; opens it when this is the first event. False = drop the event, now or for ever.
bool ensure_open(ProcessState& process, int64_t now_ns);

// errno values after which trying again later makes sense: the disk or the descriptor table may have room by then.
bool is_transient(int error);

// Marks the header; see gsd_goodbye.
void say_goodbye(ProcessState& process);

}  // namespace gradsync::spool
