// A job without a GPU: what the device would have done is told to the fake libcupti, step after step.
// usage: cupti_client SCENARIO INJECTED_LIBRARY FAKE_LIBCUPTI
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fake_cupti.h"

// The oldest forms of the records (CUDA 11), as the vendor's header of that time lays them out.
#define RECORD __attribute__((packed, aligned(8)))
struct RECORD api {
  uint32_t kind, call;
  uint64_t start, end;
  uint32_t process, thread, correlation, result;
};
struct RECORD kernel {
  uint32_t kind;
  uint8_t cache[2];
  uint16_t registers;
  uint32_t partitioned[2];
  uint64_t start, end, completed;
  uint32_t device, context, stream;
  int32_t grid[3], block[3], static_shared, dynamic_shared;
  uint32_t local, local_total, correlation;
  int64_t grid_id;
  const char* name;
};
struct RECORD copy {
  uint32_t kind;
  uint8_t copy, source, target, flags;
  uint64_t bytes, start, end;
  uint32_t device, context, stream, correlation;
};
struct RECORD peer {
  uint32_t kind;
  uint8_t copy, source, target, flags;
  uint64_t bytes, start, end;
  uint32_t device, context, stream, source_device, source_context, target_device, target_context, correlation;
};
struct RECORD set {
  uint32_t kind, value;
  uint64_t bytes, start, end;
  uint32_t device, context, stream, correlation;
};
struct RECORD sync {
  uint32_t kind, type;
  uint64_t start, end;
  uint32_t correlation, context, stream, event;
};
struct RECORD overhead {
  uint32_t kind, overhead, object;
  uint32_t id[3];
  uint64_t start, end;
};
struct RECORD graph {
  uint32_t kind, correlation;
  uint64_t start, end;
  uint32_t device, graph, context, stream;
};

static fake_emit_fn emit;
static fake_now_fn fake_now;
static fake_drop_fn drop;
static fake_enabled_fn enabled;
static int (*initialize)(void);
static uint64_t (*step)(int64_t, uint32_t, uint32_t);
static int64_t (*monotonic)(void);
static void (*yield)(void);
static uint64_t (*begin)(uint64_t, uint64_t, uint64_t);
static void (*end)(uint64_t);
static uint32_t (*string)(const char*, int64_t);
static void* cupti;

static uint32_t next_correlation = 1;
static uint32_t tid(void) { return (uint32_t)syscall(SYS_gettid); }
static void pause_us(unsigned us) { usleep(us); }

static void call(uint32_t kind, uint32_t number, uint32_t correlation, unsigned us) {
  struct api record = {kind, number, fake_now(), 0, (uint32_t)getpid(), tid(), correlation, 0};
  pause_us(us);
  record.end = fake_now();
  emit(&record, sizeof record);
}

static void run_kernel(const char* name, uint32_t correlation, uint64_t start, uint64_t stop) {
  struct kernel record;
  memset(&record, 0, sizeof record);
  record.kind = 10, record.registers = 64, record.start = start, record.end = stop, record.device = 1,
  record.stream = 7;
  record.grid[0] = 100, record.grid[1] = 2, record.grid[2] = 1, record.block[0] = 256,
  record.block[1] = record.block[2] = 1;
  record.correlation = correlation, record.name = name;
  emit(&record, sizeof record);
}

static void launch(const char* name) {
  const uint32_t correlation = __atomic_fetch_add(&next_correlation, 1, __ATOMIC_RELAXED);
  call(5, 211, correlation, 100);
  const uint64_t start = fake_now();
  pause_us(100);
  run_kernel(name, correlation, start, fake_now());
}

static void one_of_each(void) {
  launch("_Z4gemmIfLi8EEvPKT_i");
  call(5, 12, next_correlation++, 1);  // cudaGetLastError's like: of no interest
  call(4, 652, next_correlation, 10);
  const uint64_t start = fake_now();
  pause_us(50);
  const uint64_t stop = fake_now();
  run_kernel("_Z39ncclDevKernel_AllReduce_Sum_f32_RING_LL24ncclDevKernelArgsStorageILm4096EE", next_correlation++,
             start, stop);
  struct copy copy = {1, 2, 3, 2, 0, 4096, start, stop, 1, 1, 8, next_correlation++};
  emit(&copy, sizeof copy);
  struct peer peer = {22, 10, 3, 3, 0, 8192, start, stop, 1, 1, 9, 1, 1, 0, 2, next_correlation++};
  emit(&peer, sizeof peer);
  struct set set = {2, 0, 512, start, stop, 1, 1, 7, next_correlation++};
  emit(&set, sizeof set);
  call(5, 131, next_correlation, 10);
  struct sync sync = {38, 3, start, stop, next_correlation++, 1, 7, 0};
  emit(&sync, sizeof sync);
  struct sync other = {38, 2, start, stop, next_correlation++, 1, 7, 0};  // one stream waits for another: not the host
  emit(&other, sizeof other);
  struct overhead overhead = {17, 1 << 16, 2, {0, 0, 0}, start, stop};
  emit(&overhead, sizeof overhead);
  struct graph graph = {51, next_correlation++, start, stop, 1, 5, 1, 7};
  emit(&graph, sizeof graph);
}

static void next_step(void) { step(monotonic(), 0, 0); }

static void steps(int count) {
  for (int i = 0; i < count; ++i) {
    next_step();
    one_of_each();
  }
  next_step();
}

static void* storm(void* count) {
  for (long i = 0; i < (long)count; ++i) {
    const uint64_t now = fake_now();
    run_kernel("storm", __atomic_fetch_add(&next_correlation, 1, __ATOMIC_RELAXED), now, now + 1);
  }
  return NULL;
}

static void in_threads(int threads, long each) {
  pthread_t all[200];
  for (int i = 0; i < threads; ++i) pthread_create(&all[i], NULL, storm, (void*)each);
  for (int i = 0; i < threads; ++i) pthread_join(all[i], NULL);
}

// Another profiler: its own callbacks, its own kinds.
static int foreign_requests, foreign_kernels;
static uint8_t foreign_buffer[1 << 16] __attribute__((aligned(8)));
static void foreign_request(uint8_t** buffer, size_t* size, size_t* most) {
  *buffer = foreign_buffer, *size = sizeof foreign_buffer, *most = 0, ++foreign_requests;
}
static void foreign_complete(void* context, uint32_t stream, uint8_t* buffer, size_t size, size_t valid) {
  (void)context, (void)stream, (void)size;
  if (buffer != foreign_buffer) printf("foreign got a buffer that is not its own\n");
  int (*next)(uint8_t*, size_t, uint8_t**) =
      (int (*)(uint8_t*, size_t, uint8_t**))dlsym(cupti, "cuptiActivityGetNextRecord");
  uint8_t* record = NULL;
  while (next(buffer, valid, &record) == 0) foreign_kernels += *(uint32_t*)record == 10;
}
static void foreign_begins(void) {
  int (*reg)(void*, void*) = (int (*)(void*, void*))dlsym(cupti, "cuptiActivityRegisterCallbacks");
  int (*enable)(uint32_t) = (int (*)(uint32_t))dlsym(cupti, "cuptiActivityEnable");
  reg((void*)foreign_request, (void*)foreign_complete);
  enable(10);
}
static void foreign_ends(void) {
  int (*flush)(uint32_t) = (int (*)(uint32_t))dlsym(cupti, "cuptiActivityFlushAll");
  int (*disable)(uint32_t) = (int (*)(uint32_t))dlsym(cupti, "cuptiActivityDisable");
  disable(10);
  flush(1);
  printf("foreign kernels %d\n", foreign_kernels);
}

static void bad_records(void) {
  next_step();
  const uint64_t now = fake_now();
  run_kernel("zero", 1, 0, 0);
  run_kernel("backwards", 2, now, now - 1000);
  run_kernel("tomorrow", 3, now + 86400000000000u, now + 86400000001000u);
  run_kernel("another clock", 4, 1000, 2000);
  drop(17);
  launch("good");
}

static int run(const char* scenario) {
  if (strcmp(scenario, "steps") == 0 || strcmp(scenario, "job-before-cuda") == 0) {
    steps(25);
    printf("enabled %d\n", enabled());
  } else if (strcmp(scenario, "bad") == 0) {
    bad_records();
  } else if (strcmp(scenario, "threads") == 0) {
    next_step();
    in_threads(4, 20000);
  } else if (strcmp(scenario, "starved") == 0) {
    next_step();
    in_threads(150, 2);  // each holds a buffer: more than there are
  } else if (strcmp(scenario, "job-first") == 0) {
    yield();
    foreign_begins();
    steps(25);
    foreign_ends();
  } else if (strcmp(scenario, "job-later") == 0) {
    steps(12);
    printf("ours %d\n", enabled() > 0);
    yield();
    printf("after yield %d\n", enabled());
    foreign_begins();
    steps(3);
    foreign_ends();
    steps(100);
    printf("at the end %d\n", enabled());
  } else if (strcmp(scenario, "stolen") == 0) {
    steps(10);
    foreign_begins();
    steps(15);
    foreign_ends();
    steps(80);
  } else if (strcmp(scenario, "fork") == 0) {
    next_step();
    launch("of the parent");
    const pid_t child = fork();
    if (child == 0) {
      initialize();
      next_step();
      yield();
      exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    printf("child %d\n", status);
    launch("of the parent too");
  } else if (strcmp(scenario, "kill") == 0) {
    next_step();
    launch("before");
    pause_us(2500000);
    raise(SIGKILL);
  } else if (strcmp(scenario, "native") == 0) {  // nobody reports its steps
    for (int i = 0; i < 180; ++i) {
      launch("native");
      pause_us(100000);
    }
  } else if (strcmp(scenario, "nothing") == 0) {
    launch("unseen");
  } else if (strcmp(scenario, "training") == 0) {
    const uint64_t all_reduce = (uint64_t)string("all_reduce", -1) << 32 | 3 << 16 | 6;  // source nccl_nvtx, collective
    for (int i = 0; i < 25; ++i) {
      next_step();
      launch("_Z4gemmIfLi8EEvPKT_i");
      const uint64_t call = begin(all_reduce, 4096, 0);
      launch("_Z39ncclDevKernel_AllReduce_Sum_f32_RING_LL24ncclDevKernelArgsStorageILm4096EE");
      end(call);
    }
    next_step();
  } else {
    return 1;
  }
  return 0;
}

static void* symbol(void* library, const char* name) {
  void* found = dlsym(library, name);
  if (found == NULL) {
    fprintf(stderr, "%s is missing\n", name);
    exit(2);
  }
  return found;
}

int main(int count, char** words) {
  if (count != 4) return 2;
  cupti = dlopen(words[3], RTLD_NOW);  // as a framework does, before CUDA starts
  void* injected = dlopen(words[2], RTLD_NOW);
  if (cupti == NULL || injected == NULL) {
    fprintf(stderr, "%s\n", dlerror());
    return 2;
  }
  emit = (fake_emit_fn)symbol(cupti, "fake_cupti_emit");
  fake_now = (fake_now_fn)symbol(cupti, "fake_cupti_now");
  drop = (fake_drop_fn)symbol(cupti, "fake_cupti_drop");
  enabled = (fake_enabled_fn)symbol(cupti, "fake_cupti_enabled");
  initialize = (int (*)(void))symbol(injected, "InitializeInjection");
  step = (uint64_t(*)(int64_t, uint32_t, uint32_t))symbol(injected, "gsd_step");
  monotonic = (int64_t(*)(void))symbol(injected, "gsd_now");
  yield = (void (*)(void))symbol(injected, "gsd_gpu_yield");
  begin = (uint64_t(*)(uint64_t, uint64_t, uint64_t))symbol(injected, "gsd_begin");
  end = (void (*)(uint64_t))symbol(injected, "gsd_end");
  string = (uint32_t(*)(const char*, int64_t))symbol(injected, "gsd_string");
  if (getenv("CLIENT_LOADS_FRAMEWORK") != NULL && dlopen(getenv("CLIENT_LOADS_FRAMEWORK"), RTLD_NOW) == NULL) return 2;
  if (strcmp(words[1], "job-before-cuda") == 0) yield();
  printf("initialized %d\n", initialize());
  initialize();
  return run(words[1]);
}
