/* A stand-in for libnccl: no GPU and no data, but it calls an NVTX tool and a profiler plug-in in the order in which NCCL
 * does, from version 1 to 5 of the plug-in interface.
 *
 * environment: STAND_IN_NVTX=names     function names only, as NCCL before 2.16
 *              STAND_IN_NVTX=sizes     payloads without communicator, as NCCL 2.16 to 2.24
 *              STAND_IN_NVTX=full      with communicator
 *              STAND_IN_PLUGIN=1 … 5   loads NCCL_PROFILER_PLUGIN at that version of the interface
 *              STAND_IN_VERSION=22809  what ncclGetVersion answers
 *              STAND_IN_LAUNCH=thread  groups are launched by another thread
 *              STAND_IN_REFUSES=5      collectives return that
 * It writes "<letter> <function>" to stdout for each call that reaches it. */
#pragma once
#include <stddef.h>
#include <stdint.h>

typedef struct stand_in_comm* ncclComm_t;
typedef void* cudaStream_t;
typedef struct {
  char internal[128];
} ncclUniqueId;

int ncclGetVersion(int* version);
int ncclCommInitRank(ncclComm_t* comm, int ranks, ncclUniqueId id, int rank);
int ncclCommInitRankScalable(ncclComm_t* comm, int ranks, int rank, int id_count, ncclUniqueId* ids, void* config);
int ncclCommSplit(ncclComm_t comm, int color, int key, ncclComm_t* made, void* config);
int ncclCommDestroy(ncclComm_t comm);
int ncclGroupStart(void);
int ncclGroupEnd(void);
int ncclAllReduce(const void* send, void* receive, size_t count, int type, int op, ncclComm_t comm, cudaStream_t s);
int ncclAllGather(const void* send, void* receive, size_t count, int type, ncclComm_t comm, cudaStream_t s);
int ncclReduceScatter(const void* send, void* receive, size_t count, int type, int op, ncclComm_t c, cudaStream_t s);
int ncclBroadcast(const void* send, void* receive, size_t count, int type, int root, ncclComm_t comm, cudaStream_t s);
int ncclBcast(void* buffer, size_t count, int type, int root, ncclComm_t comm, cudaStream_t s);
int ncclReduce(const void* send, void* receive, size_t count, int type, int op, int root, ncclComm_t c, cudaStream_t s);
int ncclAlltoAll(const void* send, void* receive, size_t count, int type, ncclComm_t comm, cudaStream_t s);
int ncclSend(const void* send, size_t count, int type, int peer, ncclComm_t comm, cudaStream_t s);
int ncclRecv(void* receive, size_t count, int type, int peer, ncclComm_t comm, cudaStream_t s);

/* Launches what a CUDA graph captured: no call, no NVTX range, only the plug-in sees it. */
__attribute__((weak)) int stand_in_replay(ncclComm_t comm, size_t count, int type);
