#define _GNU_SOURCE
#include "tests/inject/nccl/stand_in_nccl.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/inject/nccl/stand_in_task.h"
#include "tests/inject/nvtx_client.h"

struct stand_in_comm {
  uint64_t hash;
  int rank, ranks, splits;
  uint64_t sequences[9];
  void* context;
  int mask;
};

static _Thread_local int depth;
static _Thread_local stand_in_task tasks[MOST_TASKS];
static _Thread_local int task_count;

static pthread_once_t once = PTHREAD_ONCE_INIT;
static void* nvtx_domain;
static const char* nvtx_kind;

static const char* const kNames[] = {"ncclBroadcast",     "ncclReduce",    "ncclAllGather",
                                     "ncclReduceScatter", "ncclAllReduce", "",
                                     "ncclSend",          "ncclRecv",      "ncclAlltoAll"};
static void* nvtx_names[9];
static const size_t kTypeBytes[] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2, 1, 1};

enum { SCHEMA = 1 << 24 };

static void attach(void) {
  nvtx_kind = getenv("STAND_IN_NVTX");
  if (!nvtx_kind || !client_attach()) return;
  client_attach_payload(0x0103);
  nvtx_domain = CALL(void*, client_domain[DOMAIN_CREATE_A], (const char*), ("NCCL"));
  const client_entry full[] = {{0, 18, "NCCL communicator ID", 0, 0, 0, 0, 0},
                               {0, 22, "Message size [bytes]", 0, 0, 8, 0, 0},
                               {0, 0, 0, 0, 0, 0, 0, 0}};
  const client_entry sizes[] = {{0, 22, "Message size [bytes]", 0, 0, 0, 0, 0}, {0, 0, 0, 0, 0, 0, 0, 0}};
  const int with_communicator = !strcmp(nvtx_kind, "full");
  const client_schema schema = {1 << 2 | 1 << 4 | 1 << 5 | 1 << 6 | 1 << 8,
                                "call",
                                1,
                                0,
                                with_communicator ? full : sizes,
                                with_communicator ? 3 : 2,
                                0,
                                0,
                                SCHEMA + 5};
  CALL(uint64_t, client_payload[0], (void*, const client_schema*), (nvtx_domain, &schema));
  for (int i = 0; i < 9; ++i)
    nvtx_names[i] = CALL(void*, client_domain[DOMAIN_STRING_A], (void*, const char*), (nvtx_domain, kNames[i]));
}

static void push(int function, uint64_t hash, size_t bytes) {
  pthread_once(&once, attach);
  if (!nvtx_domain) return;
  client_attributes a;
  memset(&a, 0, sizeof a);
  a.version = 3;
  a.size = sizeof a;
  a.message_type = 3;
  a.message.registered = nvtx_names[function];
  struct {
    uint64_t communicator;
    size_t bytes;
  } full = {hash, bytes};
  const int with_communicator = !strcmp(nvtx_kind, "full");
  client_blob blob = {SCHEMA + 5, with_communicator ? sizeof full : sizeof bytes,
                      with_communicator ? (void*)&full : (void*)&bytes};
  if (strcmp(nvtx_kind, "names")) {
    a.payload_type = (int32_t)0xDFBD0009;
    a.payload_count = 1;
    a.payload.u64 = (uint64_t)(uintptr_t)&blob;
  }
  CALL(int, client_domain[DOMAIN_PUSH_EX], (void*, const client_attributes*), (nvtx_domain, &a));
}

static void pop(void) {
  if (nvtx_domain) CALL(int, client_domain[DOMAIN_POP], (void*), (nvtx_domain));
}

static void add_task(int function, size_t count, int type, ncclComm_t comm) {
  if (task_count == MOST_TASKS) return;
  tasks[task_count++] = (stand_in_task){function,   count,         count * kTypeBytes[type],
                                        type,       comm->hash,    comm->sequences[function]++,
                                        comm->rank, comm->context, comm->mask};
}

struct launch {
  const stand_in_task* tasks;
  int count;
};
static void* launch(void* argument) {
  const struct launch* what = argument;
  stand_in_plugin_launch(what->tasks, what->count);
  return NULL;
}

static void launch_all(void) {
  const char* where = getenv("STAND_IN_LAUNCH");
  struct launch what = {tasks, task_count};
  pthread_t thread;
  if (where && !strcmp(where, "thread") && !pthread_create(&thread, NULL, launch, &what))
    pthread_join(thread, NULL);
  else
    launch(&what);
  task_count = 0;
}

static int call(const char* name, int function, size_t count, int type, ncclComm_t comm) {
  if (!getenv("STAND_IN_QUIET")) printf("%s %s\n", STAND_IN_LETTER, name);
  const char* refuses = getenv("STAND_IN_REFUSES");
  if (refuses) return atoi(refuses);
  push(function, comm->hash, count * kTypeBytes[type]);
  if (function == ALL_TO_ALL) {
    for (int peer = 0; peer < comm->ranks; ++peer) {
      add_task(SEND, count, type, comm);
      add_task(RECV, count, type, comm);
    }
  } else {
    add_task(function, count, type, comm);
  }
  if (depth == 0) launch_all();
  pop();
  return 0;
}

int ncclGetVersion(int* version) {
  const char* text = getenv("STAND_IN_VERSION");
  *version = text ? atoi(text) : 22809;
  return 0;
}

static ncclComm_t make(uint64_t hash, int ranks, int rank) {
  ncclComm_t comm = calloc(1, sizeof *comm);
  comm->hash = hash;
  comm->ranks = ranks;
  comm->rank = rank;
  stand_in_plugin_init(hash, ranks, rank, &comm->context, &comm->mask);
  return comm;
}

int ncclCommInitRank(ncclComm_t* comm, int ranks, ncclUniqueId id, int rank) {
  uint64_t hash = 0;
  for (int i = 0; i < 128; ++i) hash = hash * 31 + (unsigned char)id.internal[i] + 1;
  *comm = make(hash, ranks, rank);
  return 0;
}

/* As NCCL does: one initialisation calls another. */
int ncclCommInitRankScalable(ncclComm_t* comm, int ranks, int rank, int id_count, ncclUniqueId* ids, void* config) {
  return ncclCommInitRank(comm, ranks, ids[id_count - 1], rank);
}

int ncclCommSplit(ncclComm_t comm, int color, int key, ncclComm_t* made, void* config) {
  (void)config;
  (void)key;
  *made = color < 0 ? NULL : make(comm->hash * 7 + (uint64_t)color + (uint64_t)comm->splits, comm->ranks, comm->rank);
  ++comm->splits;
  return 0;
}

int ncclCommDestroy(ncclComm_t comm) {
  stand_in_plugin_finalize(comm->context);
  free(comm);
  return 0;
}

int ncclGroupStart(void) { return ++depth, 0; }

int ncclGroupEnd(void) {
  if (--depth == 0) launch_all();
  return 0;
}

int ncclAllReduce(const void* a, void* b, size_t count, int type, int op, ncclComm_t comm, cudaStream_t s) {
  return call("ncclAllReduce", ALL_REDUCE, count, type, comm);
}
int ncclAllGather(const void* a, void* b, size_t count, int type, ncclComm_t comm, cudaStream_t s) {
  return call("ncclAllGather", ALL_GATHER, count, type, comm);
}
int ncclReduceScatter(const void* a, void* b, size_t count, int type, int op, ncclComm_t comm, cudaStream_t s) {
  return call("ncclReduceScatter", REDUCE_SCATTER, count, type, comm);
}
int ncclBroadcast(const void* a, void* b, size_t count, int type, int root, ncclComm_t comm, cudaStream_t s) {
  return call("ncclBroadcast", BROADCAST, count, type, comm);
}
int ncclBcast(void* buffer, size_t count, int type, int root, ncclComm_t comm, cudaStream_t s) {
  return ncclBroadcast(buffer, buffer, count, type, root, comm, s); /* through the PLT, as NCCL does */
}
int ncclReduce(const void* a, void* b, size_t count, int type, int op, int root, ncclComm_t comm, cudaStream_t s) {
  return call("ncclReduce", REDUCE, count, type, comm);
}
int ncclAlltoAll(const void* a, void* b, size_t count, int type, ncclComm_t comm, cudaStream_t s) {
  return call("ncclAlltoAll", ALL_TO_ALL, count, type, comm);
}
int ncclSend(const void* a, size_t count, int type, int peer, ncclComm_t comm, cudaStream_t s) {
  return call("ncclSend", SEND, count, type, comm);
}
int ncclRecv(void* a, size_t count, int type, int peer, ncclComm_t comm, cudaStream_t s) {
  return call("ncclRecv", RECV, count, type, comm);
}

int stand_in_replay(ncclComm_t comm, size_t count, int type) {
  add_task(ALL_REDUCE, count, type, comm);
  launch_all();
  return 0;
}
