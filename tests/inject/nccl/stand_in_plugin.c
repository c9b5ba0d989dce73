#define _GNU_SOURCE
#include "tests/inject/nccl/stand_in_plugin.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/inject/nccl/stand_in_task.h"

static const char* const kFunctions[] = {"Broadcast", "Reduce", "AllGather", "ReduceScatter", "AllReduce"};
static const char* const kTypes[] = {"ncclInt8",   "ncclUint8",   "ncclInt32",   "ncclUint32",  "ncclInt64",
                                     "ncclUint64", "ncclFloat16", "ncclFloat32", "ncclFloat64", "ncclBfloat16"};
static const char* const kAlgorithms[] = {"TREE", "RING"};
static const char* const kProtocols[] = {"LL", "LL128", "SIMPLE"};

static const plugin_table* plugin;
static int version;

static void load_plugin(void) {
  const char* wanted = getenv("STAND_IN_PLUGIN");
  const char* path = getenv("NCCL_PROFILER_PLUGIN");
  if (!wanted || !path) return;
  version = atoi(wanted);
  void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  char symbol[32];
  snprintf(symbol, sizeof symbol, "ncclProfiler_v%d", version);
  plugin = library ? dlsym(library, symbol) : NULL;
  if (!plugin) fprintf(stderr, "no %s in %s\n", symbol, path);
}

/* Threads make their communicators at once. */
const plugin_table* stand_in_load_plugin(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, load_plugin);
  return plugin;
}

void stand_in_plugin_init(uint64_t hash, int ranks, int rank, void** context, int* mask) {
  if (!stand_in_load_plugin()) return;
  int failed = version < 4    ? plugin->init.v1(context, mask)
               : version == 4 ? plugin->init.v4(context, mask, "", hash, 1, ranks, rank, NULL)
                              : plugin->init.v5(context, hash, mask, "", 1, ranks, rank, NULL);
  if (failed) *mask = 0;
  printf("mask %d\n", *mask);
}

#define FILL_COMMON(d, task, algo_, proto_)     \
  (d).coll.seqNumber = (task)->sequence;        \
  (d).coll.func = kFunctions[(task)->function]; \
  (d).coll.count = (task)->count;               \
  (d).coll.datatype = kTypes[(task)->type];     \
  (d).coll.algo = kAlgorithms[algo_];           \
  (d).coll.proto = kProtocols[proto_];          \
  (d).coll.nWarps = 16

/* Small messages go by TREE/LL on 2 channels, others by RING/SIMPLE on 4. */
static void describe_collective(const stand_in_task* task, void* group, void* room) {
  const int small = task->bytes < 65536, algo = small ? 0 : 1, proto = small ? 0 : 2, channels = small ? 2 : 4;
  if (version == 1) {
    descriptor_v1 d = {.type = COLL, .parentObj = group, .rank = task->rank};
    d.coll.commHash = task->hash;
    d.coll.func = (uint8_t)task->function;
    d.coll.count = task->count;
    d.coll.datatype = (uint8_t)task->type;
    d.coll.algo = (uint8_t)algo;
    d.coll.proto = (uint8_t)proto;
    d.coll.nMaxChannels = (uint8_t)channels;
    memcpy(room, &d, sizeof d);
  } else if (version == 2) {
    descriptor_v2 d = {.type = COLL, .parentObj = group, .rank = task->rank};
    FILL_COMMON(d, task, algo, proto);
    d.coll.commHash = task->hash;
    d.coll.nMaxChannels = (uint8_t)channels;
    memcpy(room, &d, sizeof d);
  } else if (version == 3) {
    descriptor_v3 d = {.type = COLL, .parentObj = group, .rank = task->rank};
    FILL_COMMON(d, task, algo, proto);
    d.coll.commHash = task->hash;
    d.coll.nMaxChannels = (uint8_t)channels;
    memcpy(room, &d, sizeof d);
  } else if (version == 4) {
    descriptor_v4 d = {.type = COLL, .parentObj = group, .rank = task->rank};
    FILL_COMMON(d, task, algo, proto);
    d.coll.nChannels = (uint8_t)channels;
    memcpy(room, &d, sizeof d);
  } else {
    descriptor_v5 d = {.type = COLL, .parentObj = NULL, .rank = task->rank};
    FILL_COMMON(d, task, algo, proto);
    d.coll.nChannels = (uint8_t)channels;
    d.coll.parentGroup = group;
    memcpy(room, &d, sizeof d);
  }
}

static void describe_transfer(const stand_in_task* task, void* group, void* room) {
  const char* function = task->function == SEND ? "Send" : "Recv";
  if (version == 1) {
    descriptor_v1 d = {.type = P2P, .parentObj = group, .rank = task->rank};
    d.p2p.commHash = task->hash;
    d.p2p.func = task->function == SEND ? 6 : 7;
    d.p2p.datatype = (uint8_t)task->type;
    d.p2p.count = task->count;
    memcpy(room, &d, sizeof d);
  } else if (version < 4) {
    descriptor_v2 d = {.type = P2P, .parentObj = group, .rank = task->rank};
    d.p2p.commHash = task->hash;
    d.p2p.func = function;
    d.p2p.datatype = kTypes[task->type];
    d.p2p.count = task->count;
    memcpy(room, &d, sizeof d);
  } else if (version == 4) {
    descriptor_v4 d = {.type = P2P, .parentObj = group, .rank = task->rank};
    d.p2p.func = function;
    d.p2p.datatype = kTypes[task->type];
    d.p2p.count = task->count;
    d.p2p.nChannels = 2;
    memcpy(room, &d, sizeof d);
  } else {
    descriptor_v5 d = {.type = P2P, .parentObj = NULL, .rank = task->rank};
    d.p2p.func = function;
    d.p2p.datatype = kTypes[task->type];
    d.p2p.count = task->count;
    d.p2p.nChannels = 2;
    d.p2p.parentGroup = group;
    memcpy(room, &d, sizeof d);
  }
}

/* With STAND_IN_COPY_ENGINE all-gathers are made of copies. */
static int by_copies(const stand_in_task* task) {
  return version >= 6 && task->function == 2 && getenv("STAND_IN_COPY_ENGINE") != NULL;
}

static void describe_copies(const stand_in_task* task, void* room) {
  descriptor_v6_ce d = {.type = CE_COLL, .parentObj = NULL, .rank = task->rank};
  d.ceColl.seqNumber = task->sequence;
  d.ceColl.func = kFunctions[task->function];
  d.ceColl.count = task->count;
  d.ceColl.datatype = kTypes[task->type];
  d.ceColl.syncStrategy = "MC";
  memcpy(room, &d, sizeof d);
}

static void* start(const stand_in_task* task, void* descriptor) {
  void* handle = NULL;
  if (plugin->start(task->context, &handle, descriptor)) fprintf(stderr, "the plug-in failed\n");
  return handle;
}

static void set_type(void* descriptor, uint64_t type) {
  if (version < 5)
    *(uint8_t*)descriptor = (uint8_t)type;
  else
    *(uint64_t*)descriptor = type;
}

/* Channel c of the kernel runs from 1000 + 10 c to 5000 + 100 c on the GPU's clock; it is reported after the collective
 * itself was stopped, and a state comes after the stop. */
static void kernel_channels(const stand_in_task* task, void* parent, int channels) {
  if (!(task->mask & KERNEL_CH) || version < 4) return;
  for (int c = 0; c < channels; ++c) {
    descriptor_v5 d5 = {.type = KERNEL_CH, .parentObj = parent, .rank = task->rank};
    descriptor_v4 d4 = {.type = KERNEL_CH, .parentObj = parent, .rank = task->rank};
    d5.kernelCh.channelId = d4.kernelCh.channelId = (uint8_t)c;
    d5.kernelCh.pTimer = d4.kernelCh.pTimer = 1000 + 10 * (uint64_t)c;
    void* handle = start(task, version == 4 ? (void*)&d4 : (void*)&d5);
    uint64_t stop = 5000 + 100 * (uint64_t)c;
    plugin->record(handle, STATE_KERNEL_STOP, &stop);
    plugin->stop(handle);
    plugin->record(handle, STATE_KERNEL_STOP, &stop);
  }
}

/* The network's part: an operation of this process and one that serves another process's collective. */
static void proxy(const stand_in_task* task, void* parent) {
  if (!(task->mask & PROXY_OP)) return;
  for (int foreign = 0; foreign < 2; ++foreign) {
    char room[128] = {0};
    descriptor_v1* d = (descriptor_v1*)room; /* the same place in all versions */
    set_type(room, PROXY_OP);
    d->parentObj = foreign ? (void*)0x7f0011223344 : parent;
    d->proxyOp.pid = getpid() + foreign;
    d->proxyOp.nSteps = 8;
    d->proxyOp.chunkSize = 512;
    d->proxyOp.isSend = 1;
    void* operation = start(task, room);
    if (task->mask & PROXY_STEP) {
      memset(room, 0, sizeof room);
      set_type(room, PROXY_STEP);
      d->parentObj = operation;
      void* step = start(task, room);
      plugin->record(step, STATE_SEND_WAIT, NULL);
      plugin->stop(step);
    }
    plugin->stop(operation);
  }
}

void stand_in_plugin_launch(const stand_in_task* tasks, int count) {
  if (!plugin || count == 0 || !tasks[0].mask) return;
  char room[128] = {0};
  void* group = NULL;
  if (tasks[0].mask & GROUP) {
    set_type(room, GROUP);
    group = start(&tasks[0], room);
  }
  void* handles[MOST_TASKS] = {0};
  for (int i = 0; i < count; ++i) {
    const int transfer = tasks[i].function == SEND || tasks[i].function == RECV;
    if (!(tasks[i].mask & (transfer ? P2P : by_copies(&tasks[i]) ? CE_COLL : COLL))) continue;
    if (by_copies(&tasks[i]))
      describe_copies(&tasks[i], room);
    else if (transfer)
      describe_transfer(&tasks[i], group, room);
    else
      describe_collective(&tasks[i], group, room);
    handles[i] = start(&tasks[i], room);
  }
  for (int i = 0; i < count; ++i) plugin->stop(handles[i]);
  if (group) plugin->stop(group);
  for (int i = 0; i < count; ++i) {
    kernel_channels(&tasks[i], handles[i], tasks[i].bytes < 65536 ? 2 : 4);
    proxy(&tasks[i], handles[i]);
  }
  /* What no plug-in asked for and what it has never heard of. */
  memset(room, 0, sizeof room);
  set_type(room, version < 5 ? 128 : UNKNOWN_EVENT);
  void* unknown = start(&tasks[0], room);
  plugin->record(unknown, 99, NULL);
  plugin->stop(unknown);
  plugin->stop((void*)(uintptr_t)0xdeadbeef);
}

void stand_in_plugin_finalize(void* context) {
  if (plugin && context) plugin->finalize(context);
}
