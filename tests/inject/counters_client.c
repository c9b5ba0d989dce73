// A training job without a GPU whose communication hook launches two kernels and then lets NCCL reduce, step after step:
// kernels are told to the fake profiler, NCCL's calls are its NVTX ranges.
// usage: counters_client SCENARIO INJECTED_LIBRARY FAKE_LIBCUPTI
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fake_cupti.h"
#include "nvtx_client.h"

static void (*launch)(const char*, double);
static uint64_t (*step)(int64_t, uint32_t, uint32_t);
static int64_t (*monotonic)(void);
static void (*begin)(void);
static void (*end)(void);
static void (*yield)(void);
static void* nccl_domain;
static const char* scenario;

// The oldest form of a kernel's record, as far as it matters: without any, nothing was there to be watched.
struct __attribute__((packed, aligned(8))) kernel {
  uint32_t kind, registers, partitioned[2];
  uint64_t start, end, completed;
  uint32_t device, context, stream;
  int32_t sizes[8];
  uint32_t local[2], correlation;
  int64_t grid;
  const char* name;
};
static fake_emit_fn emit;
static fake_now_fn now;

static void record_kernel(void) {
  struct kernel record;
  memset(&record, 0, sizeof record);
  record.kind = 10, record.start = now(), record.name = "gemm";
  record.end = record.start + 1;
  emit(&record, sizeof record);
}

static int is(const char* name) { return strcmp(scenario, name) == 0; }

static int (*wrapper)(const void*, void*, size_t, int, int, void*, void*);

static void nccl_call_begins(void) {
  if (is("wrapper")) {  // there is no library behind it: it returns an error, after it looked at the profiler
    wrapper(NULL, NULL, 1, 7, 0, NULL, NULL);
    return;
  }
  client_attributes range;
  memset(&range, 0, sizeof range);
  range.version = 3, range.size = sizeof range, range.message_type = 1, range.message.ascii = "ncclAllReduce";
  CALL(int, client_domain[DOMAIN_PUSH_EX], (void*, const client_attributes*), (nccl_domain, &range));
}

static void nccl_call_ends(void) {
  if (is("wrapper")) return;
  CALL(int, client_domain[DOMAIN_POP], (void*), (nccl_domain));
}

static void* reduce(void* unused) {
  if (!is("hidden")) nccl_call_begins();
  launch("ncclDevKernel_AllReduce_Sum_f32_RING_LL", 5000);
  if (!is("hidden")) nccl_call_ends();
  return unused;
}

static void on_another_thread(void* (*work)(void*)) {
  pthread_t thread;
  pthread_create(&thread, NULL, work, NULL);
  pthread_join(thread, NULL);
}

// Of one bucket. NCCL's kernel must never find the profiler on: the fake dies of it.
static void hook(int number) {
  const int many = is("many") ? 70 : 1;
  begin();
  for (int i = 0; i < many; ++i) launch("topk", 1000);
  launch("pack", 3000);
  if (is("other-thread")) on_another_thread(reduce);
  if (is("yield") && number == 0) yield();
  if (is("fork") && number == 0) {
    const pid_t child = fork();
    if (child == 0) {
      end(), begin(), nccl_call_begins(), nccl_call_ends();
      _exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    printf("child %d\n", status);
  }
  if (!is("unannounced") && !is("wrapper")) end();  // else NCCL's call does it
  reduce(NULL);
}

static void* symbol(void* library, const char* name) {
  void* found = dlsym(library, name);
  if (found == NULL) fprintf(stderr, "%s is missing\n", name), exit(2);
  return found;
}

int main(int count, char** words) {
  if (count != 4) return 2;
  scenario = words[1];
  void* cupti = dlopen(words[3], RTLD_NOW);
  void* injected = dlopen(words[2], RTLD_NOW);
  if (cupti == NULL || injected == NULL) return fprintf(stderr, "%s\n", dlerror()), 2;
  launch = (void (*)(const char*, double))dlsym(cupti, "fake_profiler_launch");
  emit = (fake_emit_fn)symbol(cupti, "fake_cupti_emit");
  now = (fake_now_fn)symbol(cupti, "fake_cupti_now");
  step = (uint64_t(*)(int64_t, uint32_t, uint32_t))symbol(injected, "gsd_step");
  monotonic = (int64_t(*)(void))symbol(injected, "gsd_now");
  begin = (void (*)(void))symbol(injected, "gsd_counters_begin");
  end = (void (*)(void))symbol(injected, "gsd_counters_end");
  wrapper = (int (*)(const void*, void*, size_t, int, int, void*, void*))symbol(injected, "ncclAllReduce");
  yield = (void (*)(void))symbol(injected, "gsd_gpu_yield");
  if (launch == NULL) launch = (void (*)(const char*, double))symbol(cupti, "fake_cupti_ignore");
  client_attach();
  nccl_domain = CALL(void*, client_domain[DOMAIN_CREATE_A], (const char*), ("NCCL"));
  ((int (*)(void))symbol(injected, "InitializeInjection"))();
  const int steps = is("short") ? 26 : 32;
  for (int i = 0; i < steps; ++i) {
    step(monotonic(), 0, 0);
    launch("gemm", 9000);
    record_kernel();
    if (is("busy")) nccl_call_begins();  // and does not return while the hook runs
    if (is("no-hook"))
      reduce(NULL);
    else
      for (int bucket = 0; bucket < 2; ++bucket) hook(i - 25);
    if (is("busy")) nccl_call_ends();
  }
  step(monotonic(), 0, 0);
  return 0;
}
