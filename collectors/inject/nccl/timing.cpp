#include "collectors/inject/nccl/timing.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "src/spool_writer/atomics.h"
#include "src/spool_writer/gsd.h"
#include "src/spool_writer/kernel.h"
#include "src/spool_writer/old_glibc.h"

namespace gradsync::nccl {
namespace {

// CUDA's driver interface, as its reference gives it.
using Context = void*;
using CudaEvent = void*;
constexpr int kDone = 0, kNotReady = 600, kRelaxed = 2;

struct Driver {
  int (*current)(Context*);
  int (*create)(CudaEvent*, unsigned flags);
  int (*record)(CudaEvent, Stream);
  int (*query)(CudaEvent);
  int (*elapsed)(float* milliseconds, CudaEvent, CudaEvent);
  int (*is_capturing)(Stream, int*);
  int (*exchange_mode)(int*);  // what a thread may do while another one captures
};
Driver g_driver;

enum class Ready : uint32_t { not_asked, no, yes };
Ready g_ready;
uint32_t g_process;  // a forked child has no CUDA
uint32_t g_key, g_source_key, g_source;

// free → claimed (its owner alone looks at it) → pending → claimed by whoever reads it → free. dead: it failed.
enum class State : uint32_t { free, claimed, pending, dead };
struct Pair {
  State state;
  Context context;
  CudaEvent first, last;
  uint64_t event;
};
Pair g_pairs[kPairs];
uint32_t g_cursor;

template <typename Function>
bool find(void* library, Function& function, const char* name) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  return function != nullptr;
}

// The driver that the job has loaded. Threads that ask at the same time find the same.
bool find_driver() {
  void* library = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
  if (library == nullptr) return false;
  Driver found = {};
  const bool whole = find(library, found.current, "cuCtxGetCurrent") && find(library, found.create, "cuEventCreate") &&
                     find(library, found.record, "cuEventRecord") && find(library, found.query, "cuEventQuery") &&
                     find(library, found.elapsed, "cuEventElapsedTime") &&
                     find(library, found.is_capturing, "cuStreamIsCapturing") &&
                     find(library, found.exchange_mode, "cuThreadExchangeStreamCaptureMode");
  if (!whole) return false;
  g_driver = found;
  g_key = gsd_string("gpu_ns", -1);
  g_source_key = gsd_string("gpu_ns_from", -1);
  g_source = gsd_string("cuda_events", -1);
  spool::store_relaxed(&g_process, spool::process_id());
  return true;
}

bool ready() {
  Ready known = spool::load_acquire(&g_ready);
  if (known == Ready::not_asked) {
    known = find_driver() ? Ready::yes : Ready::no;
    spool::store_release(&g_ready, known);
  }
  return known == Ready::yes && spool::load_relaxed(&g_process) == spool::process_id();
}

// In this mode a query breaks nobody's capture.
class Relaxed {
 public:
  Relaxed() : saved_errno_(errno) { g_driver.exchange_mode(&mode_); }
  Relaxed(const Relaxed&) = delete;
  Relaxed& operator=(const Relaxed&) = delete;
  ~Relaxed() {
    g_driver.exchange_mode(&mode_);
    errno = saved_errno_;
  }

 private:
  int saved_errno_, mode_ = kRelaxed;
};

void read(Pair& pair) {
  if (!spool::replace(&pair.state, State::pending, State::claimed)) return;
  const int status = g_driver.query(pair.last);
  if (status == kNotReady) return spool::store_release(&pair.state, State::pending);
  float milliseconds = 0;
  if (status != kDone || g_driver.elapsed(&milliseconds, pair.first, pair.last) != kDone)
    return spool::store_release(&pair.state, State::dead);
  if (milliseconds > 0) {
    gsd_attr_int(pair.event, g_key, static_cast<int64_t>(static_cast<double>(milliseconds) * 1e6));
    gsd_attr_str(pair.event, g_source_key, g_source);
  }
  spool::store_release(&pair.state, State::free);
}

bool has_events(Pair& pair, Context context) {
  if (pair.context != nullptr) return pair.context == context;
  if (g_driver.create(&pair.first, 0) != 0 || g_driver.create(&pair.last, 0) != 0) return false;
  pair.context = context;
  return true;
}

// Reads a few of the oldest on its way. 0 = none is free here.
uint32_t claim(Context context) {
  constexpr uint32_t kProbes = 8;
  const uint32_t from = spool::add_relaxed(&g_cursor, 1u);
  for (uint32_t i = 0; i < kProbes; ++i) {
    const uint32_t index = (from + i) % kPairs;
    Pair& pair = g_pairs[index];
    if (spool::load_acquire(&pair.state) == State::pending) read(pair);
    if (!spool::replace(&pair.state, State::free, State::claimed)) continue;
    if (has_events(pair, context)) return index + 1;
    spool::store_release(&pair.state, pair.context == nullptr ? State::dead : State::free);
  }
  return 0;
}

}  // namespace

bool times_are_wanted() {
  static uint32_t wanted;  // 0 = not asked yet, 1 no, 2 yes
  uint32_t known = spool::load_relaxed(&wanted);
  if (known == 0) {
    const char* list = secure_getenv("GSD_NCCL_EVENTS");
    const char* at = list == nullptr ? nullptr : strstr(list, "times");
    spool::store_relaxed(&wanted, known = at != nullptr ? 2 : 1);
  }
  return known == 2;
}

uint32_t start_timing(Stream stream) {
  // cudaStreamLegacy and cudaStreamPerThread are 1 and 2.
  if (reinterpret_cast<uint64_t>(stream) <= 2 || !ready()) return 0;
  const Relaxed relaxed;
  int capturing = 1;
  Context context = nullptr;
  if (g_driver.is_capturing(stream, &capturing) != 0 || capturing != 0) return 0;
  if (g_driver.current(&context) != 0 || context == nullptr) return 0;
  const uint32_t pair = claim(context);
  if (pair != 0 && g_driver.record(g_pairs[pair - 1].first, stream) != 0) {
    drop_timing(pair);
    return 0;
  }
  return pair;
}

void end_timing(uint32_t pair, Stream stream, uint64_t event) {
  if (pair == 0) return;
  const Relaxed relaxed;
  Pair& mine = g_pairs[pair - 1];
  mine.event = event;
  const bool recorded = g_driver.record(mine.last, stream) == 0;
  spool::store_release(&mine.state, recorded ? State::pending : State::free);
}

void drop_timing(uint32_t pair) {
  if (pair != 0) spool::store_release(&g_pairs[pair - 1].state, State::free);
}

}  // namespace gradsync::nccl
