#include "src/spool_writer/process_state.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "src/spool_writer/atomics.h"
#include "src/spool_writer/kernel.h"
#include "src/spool_writer/lane.h"
#include "src/spool_writer/spool_file.h"
#include "src/spool_writer/strings.h"

#ifndef MADV_WIPEONFORK
#define MADV_WIPEONFORK 18
#endif

namespace gradsync::spool {

ProcessState* g_process = nullptr;

namespace {

char g_recording[kPathBytes];  // inherited by children: the job may clear its environment
uint32_t g_max_chunks = kMaxChunks;
uint32_t g_epochs = 0;  // spools opened in this line of forks

void forget_parent() {
  if (g_process != nullptr) memset(g_process, 0, sizeof(ProcessState));
}

uint32_t parse_bound(const char* text) {
  // No strtoul: newer headers bind it to a symbol that glibc 2.17 lacks.
  uint32_t value = 0;
  if (text == nullptr) return kMaxChunks;
  for (; *text >= '0' && *text <= '9'; ++text) {
    value = value * 10 + static_cast<uint32_t>(*text - '0');
    if (value >= kMaxChunks) return kMaxChunks;
  }
  return value == 0 ? kMaxChunks : value;
}

ProcessState* map_state(ForkGuard guard) {
  void* memory = mmap(nullptr, sizeof(ProcessState), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return nullptr;
  const bool by_kernel =
      guard == ForkGuard::kernel_or_handler && madvise(memory, sizeof(ProcessState), MADV_WIPEONFORK) == 0;
  if (!by_kernel && pthread_atfork(nullptr, nullptr, forget_parent) != 0) return nullptr;
  return static_cast<ProcessState*>(memory);
}

// Called by the one thread that won the transition not_yet → in_progress.
void open_spool(ProcessState& process) {
  store_relaxed(&process.max_chunks, g_max_chunks);
  SpoolHeader* header = nullptr;
  const int error = create_spool(g_recording, process, &header);
  if (error != 0) {
    store_relaxed(&process.retry_at_ns, now() + kRetryNs);
    store_release(&process.opening, is_transient(error) ? Opening::not_yet : Opening::impossible);
    return;
  }
  header->max_chunks = g_max_chunks;
  header->dropped_no_space = swap(&process.lost_before_open, uint64_t{0});
  header->self_ns = swap(&process.self_before_open_ns, uint64_t{0});
  header->nvtx_inits = load_relaxed(&g_nvtx_inits);
  process.header = header;
  process.calibrated_ns = measure_call_ns();
  process.unwritten_strings = 1;  // those interned earlier, or before the fork
  store_ordered(&process.epoch, ++g_epochs);
  store_release(&process.opening, Opening::done);
}

}  // namespace

uint64_t g_nvtx_inits = 0;

void configure(ForkGuard guard) {
  // secure_getenv: a set-uid program must not write where its caller says.
  const char* folder = secure_getenv("GSD_RECORDING");
  if (folder == nullptr || folder[0] != '/' || strlen(folder) + 512 > kPathBytes) return;
  strcpy(g_recording, folder);
  g_page_bytes = static_cast<uint32_t>(sysconf(_SC_PAGESIZE));
  g_max_chunks = parse_bound(secure_getenv("GSD_MAX_CHUNKS"));
  if (!make_string_table() || !make_lane_key()) return;
  g_process = map_state(guard);
}

bool ensure_open(ProcessState& process, int64_t now_ns) {
  // Waiting for the opening thread is bounded; the disk may be slow and the job must not wait for it.
  constexpr int kMaxYields = 2000;
  for (int yields = 0; yields < kMaxYields; ++yields) {
    switch (load_acquire(&process.opening)) {
      case Opening::done:
        return true;
      case Opening::impossible:
        return false;
      case Opening::in_progress:
        sched_yield();
        break;
      case Opening::not_yet:
        if (now_ns < load_relaxed(&process.retry_at_ns)) return false;
        if (replace(&process.opening, Opening::not_yet, Opening::in_progress)) open_spool(process);
        break;
    }
  }
  return false;
}

bool is_transient(int error) {
  return error == ENOSPC || error == EDQUOT || error == EMFILE || error == ENFILE || error == ENOMEM ||
         error == EINTR || error == EAGAIN;
}

void say_goodbye(ProcessState& process) {
  if (load_acquire(&process.opening) != Opening::done) return;
  SpoolHeader* header = process.header;
  if (header->pid != process_id() || !replace(&header->exited_cleanly, uint64_t{0}, uint64_t{1})) return;
  store_release(&header->exit_ns, now());
}

}  // namespace gradsync::spool
