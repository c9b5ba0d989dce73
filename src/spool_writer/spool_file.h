// The file itself: making it with its header, opening it again, reserving and mapping parts of it.
//
// No descriptor stays open between chunks: a job that closes all descriptors (daemons do) and reuses the number would
// make us write into its file, and a job that counts its descriptors would see ours.
#pragma once

#include <stdint.h>

#include "src/spool_writer/process_state.h"

namespace gradsync::spool {

// Creates events/<host>-<pid>.spool below `recording` (…-<pid>-2.spool and so on when this pid had one already: exec
// keeps the pid) and maps its header. Fills what `process` says of the file. Returns 0 or an errno value.
int create_spool(const char* recording, ProcessState& process, SpoolHeader** header);

// Opens the spool's file again, after checking that it is still the one that we made; -1 when it is not.
int reopen_spool(const ProcessState& process);

// The pages that a part of the file lies in. With 64 KiB pages (some arm64 kernels) a chunk begins within a page of its
// neighbour: it is then mapped twice, which MAP_SHARED allows.
struct PageRange {
  int64_t offset;
  int64_t bytes;
};
PageRange pages_of(int64_t offset, uint32_t bytes);

// The machine's page size; set by configure().
extern uint32_t g_page_bytes;

// Reserves disk space for `bytes` at `offset` and maps it; null when the disk refuses (then errno tells why).
// The space is taken before the first touch: a full disk must never become a SIGBUS in the job.
void* reserve_and_map(int fd, int64_t offset, uint32_t bytes);

// Takes a mapped part of the file out of the job's resident memory. It stays mapped, and a later touch brings it back.
void give_memory_back(void* memory, int64_t offset, uint32_t bytes);

}  // namespace gradsync::spool
