/* A library that is linked with libnccl, as torch's is. run_scenario (client_main.c) makes its calls. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/inject/nccl/stand_in_nccl.h"

enum { FLOAT16 = 6, FLOAT32 = 7, BFLOAT16 = 9, SUM = 0, MAX = 2 };

static ncclComm_t make(char seed) {
  ncclUniqueId id;
  memset(id.internal, seed, sizeof id.internal);
  ncclComm_t comm = NULL;
  ncclCommInitRank(&comm, 2, id, 0);
  return comm;
}

static void calls(void) {
  static char buffer[64];
  ncclComm_t comm = make('a'), half = NULL;
  ncclAllReduce(buffer, buffer, 1024, FLOAT32, SUM, comm, NULL);
  ncclAllReduce(buffer, buffer, 65536, FLOAT32, MAX, comm, NULL);
  ncclAllGather(buffer, buffer, 33, BFLOAT16, comm, NULL);
  ncclReduceScatter(buffer, buffer, 100, FLOAT16, SUM, comm, NULL);
  ncclBroadcast(buffer, buffer, 10, FLOAT32, 0, comm, NULL);
  ncclReduce(buffer, buffer, 11, FLOAT32, SUM, 0, comm, NULL);
  ncclSend(buffer, 12, FLOAT32, 1, comm, NULL);
  ncclRecv(buffer, 13, FLOAT32, 1, comm, NULL);
  ncclCommSplit(comm, 1, 0, &half, NULL);
  ncclAllReduce(buffer, buffer, 7, FLOAT32, SUM, half, NULL);
  ncclCommDestroy(half);
  ncclCommDestroy(comm);
}

static void nested(void) {
  static char buffer[64];
  ncclComm_t comm = make('b');
  ncclBcast(buffer, 5, FLOAT32, 0, comm, NULL);
  ncclAlltoAll(buffer, buffer, 6, FLOAT32, comm, NULL);
  ncclCommDestroy(comm);
}

static void scalable(void) {
  static char buffer[64];
  ncclUniqueId ids[2];
  ncclComm_t comm = NULL;
  memset(ids, 's', sizeof ids);
  ncclCommInitRankScalable(&comm, 2, 0, 2, ids, NULL);
  ncclAllReduce(buffer, buffer, 8, FLOAT32, SUM, comm, NULL);
  ncclCommDestroy(comm);
  comm = make('s');
  ncclAllReduce(buffer, buffer, 8, FLOAT32, SUM, comm, NULL);
  ncclCommDestroy(comm);
}

/* Sizes repeat, and the order of the launch need not be that of the calls. */
static void group(void) {
  static char buffer[64];
  ncclComm_t comm = make('c'), other = make('d');
  ncclGroupStart();
  ncclAllReduce(buffer, buffer, 1000, FLOAT32, SUM, comm, NULL);
  ncclAllReduce(buffer, buffer, 1000000, FLOAT32, SUM, comm, NULL);
  ncclAllReduce(buffer, buffer, 1000, FLOAT32, SUM, other, NULL);
  ncclAllReduce(buffer, buffer, 1000, FLOAT32, SUM, comm, NULL);
  ncclGroupEnd();
  ncclCommDestroy(comm);
  ncclCommDestroy(other);
}

/* Calls on a stream, one in a group of its own, two in one group, then on streams that are not timed; and as many more
 * as let all of the first be read. */
static void timed(void) {
  static char buffer[64];
  void* stream = (void*)0x1000;
  ncclComm_t comm = make('t');
  for (int i = 0; i < 20; ++i) ncclAllReduce(buffer, buffer, 100, FLOAT32, SUM, comm, stream);
  ncclGroupStart();
  ncclAllReduce(buffer, buffer, 101, FLOAT32, SUM, comm, stream);
  ncclGroupEnd();
  ncclGroupStart();
  ncclAllReduce(buffer, buffer, 102, FLOAT32, SUM, comm, stream);
  ncclAllReduce(buffer, buffer, 102, FLOAT32, SUM, comm, stream);
  ncclGroupEnd();
  ncclAllReduce(buffer, buffer, 103, FLOAT32, SUM, comm, NULL);
  ncclAllReduce(buffer, buffer, 103, FLOAT32, SUM, comm, (void*)0xbad);
  for (int i = 0; i < 1200; ++i) ncclAllReduce(buffer, buffer, 100, FLOAT32, SUM, comm, stream);
  ncclCommDestroy(comm);
}

static void replays(void) {
  static char buffer[64];
  ncclComm_t comm = make('e');
  int (*replay)(ncclComm_t, size_t, int) = stand_in_replay;
  ncclAllReduce(buffer, buffer, 2000, FLOAT32, SUM, comm, NULL);
  for (int i = 0; i < 3; ++i) replay(comm, 2000, FLOAT32);
  ncclCommDestroy(comm);
}

static void* one_thread(void* number) {
  static _Thread_local char buffer[64];
  const size_t count = 100 + *(int*)number;
  ncclComm_t comm = make((char)(*(int*)number));
  for (int i = 0; i < 200; ++i) ncclAllReduce(buffer, buffer, count, FLOAT32, SUM, comm, NULL);
  ncclCommDestroy(comm);
  return NULL;
}

static void threads(void) {
  pthread_t ids[4];
  int numbers[4];
  for (int i = 0; i < 4; ++i) {
    numbers[i] = i;
    pthread_create(&ids[i], NULL, one_thread, &numbers[i]);
  }
  for (int i = 0; i < 4; ++i) pthread_join(ids[i], NULL);
}

static void forks(void) {
  static char buffer[64];
  ncclComm_t comm = make('f');
  ncclAllReduce(buffer, buffer, 1, FLOAT32, SUM, comm, NULL);
  fflush(stdout);
  const pid_t child = fork();
  ncclAllReduce(buffer, buffer, child ? 3 : 2, FLOAT32, SUM, comm, NULL);
  if (child == 0) {
    fflush(stdout);
    _exit(0);
  }
  waitpid(child, NULL, 0);
}

/* More events than the plug-in has handles for. */
static void many(void) {
  static char buffer[64];
  ncclComm_t comm = make('g');
  for (int i = 0; i < 20000; ++i) ncclAllReduce(buffer, buffer, 4, FLOAT32, SUM, comm, NULL);
  ncclCommDestroy(comm);
}

/* More communicators, one after the other and all at once, than it keeps at once. */
static void communicators(void) {
  static char buffer[64];
  for (int i = 0; i < 1500; ++i) ncclCommDestroy(make('h'));
  enum { AT_ONCE = 1030 };
  ncclComm_t all[AT_ONCE];
  for (int i = 0; i < AT_ONCE; ++i) all[i] = make((char)i);
  ncclAllReduce(buffer, buffer, 4, FLOAT32, SUM, all[0], NULL);
  ncclAllReduce(buffer, buffer, 5, FLOAT32, SUM, all[AT_ONCE - 1], NULL);
  for (int i = 0; i < AT_ONCE; ++i) ncclCommDestroy(all[i]);
}

/* What the real library can do without a GPU. */
static void without_communicator(void) {
  static char buffer[64];
  int version = 0;
  ncclGetVersion(&version);
  printf("version %d\n", version);
  printf("answers %d", ncclAllReduce(buffer, buffer, 1024, FLOAT32, SUM, NULL, NULL));
  printf(" %d", ncclAllGather(buffer, buffer, 33, FLOAT32, NULL, NULL));
  printf(" %d\n", ncclBcast(buffer, 10, FLOAT32, 0, NULL, NULL));
}

__attribute__((visibility("default"))) int run_scenario(const char* name) {
  static const struct {
    const char* name;
    void (*run)(void);
  } scenarios[] = {{"calls", calls},
                   {"timed", timed},
                   {"nested", nested},
                   {"group", group},
                   {"replays", replays},
                   {"fork", forks},
                   {"many", many},
                   {"scalable", scalable},
                   {"threads", threads},
                   {"communicators", communicators},
                   {"without communicator", without_communicator}};
  for (size_t i = 0; i < sizeof scenarios / sizeof scenarios[0]; ++i) {
    if (!strcmp(name, scenarios[i].name)) return scenarios[i].run(), fflush(stdout), 0;
  }
  return 2;
}
