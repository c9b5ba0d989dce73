// See fake_cupti.h. FAKE_CUPTI_OLD builds one of before CUDA 12.5: calls cannot be chosen.
#define _GNU_SOURCE
#include "fake_cupti.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

typedef void (*requested_fn)(uint8_t**, size_t*, size_t*);
typedef void (*completed_fn)(void*, uint32_t, uint8_t*, size_t, size_t);

enum {
  MEMCPY = 1,
  MEMSET = 2,
  DRIVER = 4,
  RUNTIME = 5,
  KERNEL = 10,
  OVERHEAD = 17,
  PEER = 22,
  SYNC = 38,
  GRAPH = 51,
  KINDS = 64,
  CALLS = 1024
};
enum { THREADS = 256, MAX_LIMIT_REACHED = 12, INVALID_KIND = 21 };

struct buffer {
  uint8_t* bytes;
  size_t size, used;
};
static struct buffer buffers[THREADS];  // one a thread, given to CUPTI's callbacks with the lock free
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int thread_count;
static __thread int my_slot __attribute__((tls_model("initial-exec"))) = -1;
static requested_fn requested;
static completed_fn completed;
static uint64_t (*timestamp)(void);
static char kind_on[KINDS], call_on[2][CALLS];
static size_t lost;
static uint32_t thread_ids;
static pid_t process;

static void die(const char* why) {
  fprintf(stderr, "fake libcupti: %s\n", why);
  abort();
}

static void entered(void) {
  if (process == 0) process = getpid();
  if (process != getpid()) die("called in a forked child");
}

static uint32_t version(void) {
  const char* text = getenv("FAKE_CUPTI_VERSION");
  return text == NULL ? 130001 : (uint32_t)atoi(text);
}

// sizeof of the record of CUDA 11.7, 11.8, 12.9 U1 and 13.0 U1. See record_strides.c, which asks real libraries.
static size_t stride(uint32_t kind) {
  const uint32_t v = version();
  const int age = v >= 130000 ? 3 : v >= 19 ? 2 : v >= 18 ? 1 : 0;
  static const struct {
    uint32_t kind;
    size_t bytes[4];
  } table[] = {{KERNEL, {176, 200, 208, 216}}, {MEMCPY, {88, 88, 96, 96}},   {PEER, {96, 96, 96, 96}},
               {MEMSET, {88, 88, 88, 88}},     {RUNTIME, {40, 40, 40, 40}},  {DRIVER, {40, 40, 40, 40}},
               {SYNC, {40, 40, 56, 56}},       {OVERHEAD, {40, 40, 56, 56}}, {GRAPH, {48, 48, 56, 56}}};
  for (size_t i = 0; i < sizeof table / sizeof table[0]; ++i)
    if (table[i].kind == kind) return table[i].bytes[age];
  return 0;
}

int cuptiGetVersion(uint32_t* out) {
  entered();
  *out = version();
  return 0;
}

uint64_t fake_cupti_now(void) {
  if (timestamp != NULL) return timestamp();
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

int cuptiGetTimestamp(uint64_t* out) {
  entered();
  *out = fake_cupti_now();
  return 0;
}

int cuptiActivityRegisterTimestampCallback(uint64_t (*callback)(void)) {
  entered();
  if (timestamp != NULL) die("a second timestamp callback");
  for (int i = 0; i < KINDS; ++i)
    if (kind_on[i]) die("a timestamp callback after a kind was enabled");
  timestamp = callback;
  return 0;
}

int cuptiActivityRegisterCallbacks(requested_fn ask, completed_fn give) {
  entered();
  requested = ask;
  completed = give;
  return 0;
}

int cuptiActivityEnable(uint32_t kind) {
  entered();
  const char* error = getenv("FAKE_CUPTI_ENABLE_ERROR");
  if (error != NULL) return atoi(error);
  if (kind == 3) die("KIND_KERNEL serialises the device");
  kind_on[kind] = 1;
  return 0;
}

int cuptiActivityDisable(uint32_t kind) {
  entered();
  kind_on[kind] = 0;
  return 0;
}

#ifndef FAKE_CUPTI_OLD
int cuptiActivityEnableRuntimeApi(uint32_t call, uint8_t enable) {
  entered();
  call_on[0][call] = (char)enable;
  return 0;
}

int cuptiActivityEnableDriverApi(uint32_t call, uint8_t enable) {
  entered();
  call_on[1][call] = (char)enable;
  return 0;
}
#endif

int cuptiSetThreadIdType(uint32_t type) {
  entered();
  thread_ids = type;
  return 0;
}

int cuptiGetThreadIdType(uint32_t* type) {
  entered();
  *type = thread_ids;
  return 0;
}

int cuptiActivityGetNextRecord(uint8_t* buffer, size_t valid, uint8_t** record) {
  entered();
  size_t at = 0;
  if (*record != NULL) {
    uint32_t kind;
    memcpy(&kind, *record, sizeof kind);
    if (stride(kind) == 0) return INVALID_KIND;
    at = (size_t)(*record - buffer) + stride(kind);
  }
  if (at + sizeof(uint32_t) > valid) return MAX_LIMIT_REACHED;
  *record = buffer + at;
  return 0;
}

int cuptiActivityGetNumDroppedRecords(void* context, uint32_t stream, size_t* dropped) {
  (void)context, (void)stream;
  entered();
  *dropped = __atomic_exchange_n(&lost, 0, __ATOMIC_RELAXED);
  return 0;
}

static void give_back(struct buffer* buffer) {
  const struct buffer full = *buffer;
  memset(buffer, 0, sizeof *buffer);
  if (full.bytes != NULL) completed(NULL, 0, full.bytes, full.size, full.used);
}

int cuptiActivityFlushAll(uint32_t flag) {
  (void)flag;
  entered();
  pthread_mutex_lock(&lock);
  for (int i = 0; i < thread_count; ++i) give_back(&buffers[i]);
  pthread_mutex_unlock(&lock);
  return 0;
}

int cuptiSubscribe(void** subscriber, void* callback, void* data) {
  (void)subscriber, (void)callback, (void)data;
  die("subscribed");
  return 39;
}

int cuptiFinalize(void) {
  die("finalised");
  return 0;
}

static int is_on(uint32_t kind, const void* record) {
  if (kind_on[kind]) return 1;
  uint32_t call;
  memcpy(&call, (const char*)record + 4, sizeof call);
  return kind == RUNTIME ? call_on[0][call] : kind == DRIVER ? call_on[1][call] : 0;
}

void fake_cupti_emit(const void* record, size_t bytes) {
  uint32_t kind;
  memcpy(&kind, record, sizeof kind);
  if (!is_on(kind, record)) return;
  pthread_mutex_lock(&lock);
  if (my_slot < 0 && thread_count == THREADS) die("too many threads");
  if (my_slot < 0) my_slot = thread_count++;
  struct buffer* mine = &buffers[my_slot];
  if (mine->bytes != NULL && mine->used + stride(kind) > mine->size) give_back(mine);
  if (mine->bytes == NULL) {
    size_t most = 1;
    requested(&mine->bytes, &mine->size, &most);
    if (mine->bytes == NULL || mine->size < 1024 || (uintptr_t)mine->bytes % 8 != 0) die("a bad buffer");
    memset(mine->bytes, 0, mine->size);
  }
  memset(mine->bytes + mine->used, 0, stride(kind));
  memcpy(mine->bytes + mine->used, record, bytes < stride(kind) ? bytes : stride(kind));
  mine->used += stride(kind);
  pthread_mutex_unlock(&lock);
}

void fake_cupti_drop(size_t records) { __atomic_fetch_add(&lost, records, __ATOMIC_RELAXED); }

int fake_cupti_enabled(void) {
  int count = 0;
  for (int i = 0; i < KINDS; ++i) count += kind_on[i];
  for (int i = 0; i < CALLS; ++i) count += call_on[0][i] + call_on[1][i];
  return count;
}

// One of before CUDA 12.6 has no range profiler: kernels are nothing to it.
void fake_cupti_ignore(const char* name, double ns) { (void)name, (void)ns; }
