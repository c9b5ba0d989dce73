// NCCL's own functions, exported from here: with LD_PRELOAD the job's calls come by. For what NCCL's NVTX ranges do not
// tell (before 2.16, or switched off): count, type, operation and communicator from the arguments.
//
// Signatures: nccl.h. They are NCCL's names, so the library must never be loaded RTLD_GLOBAL but by LD_PRELOAD.
#pragma once

#include "collectors/inject/abi/nccl_abi.h"
#include "src/spool_writer/gsd.h"

extern "C" {
// NOLINTBEGIN(readability-identifier-naming): the names are NCCL's
GSD_EXPORT int ncclAllReduce(const void* send, void* receive, size_t count, int type, int operation,
                             gradsync::nccl::Comm comm, gradsync::nccl::Stream stream);
GSD_EXPORT int ncclAllGather(const void* send, void* receive, size_t count, int type, gradsync::nccl::Comm comm,
                             gradsync::nccl::Stream stream);
GSD_EXPORT int ncclReduceScatter(const void* send, void* receive, size_t count, int type, int operation,
                                 gradsync::nccl::Comm comm, gradsync::nccl::Stream stream);
GSD_EXPORT int ncclBroadcast(const void* send, void* receive, size_t count, int type, int root,
                             gradsync::nccl::Comm comm, gradsync::nccl::Stream stream);
GSD_EXPORT int ncclBcast(void* buffer, size_t count, int type, int root, gradsync::nccl::Comm comm,
                         gradsync::nccl::Stream stream);
GSD_EXPORT int ncclReduce(const void* send, void* receive, size_t count, int type, int operation, int root,
                          gradsync::nccl::Comm comm, gradsync::nccl::Stream stream);
GSD_EXPORT int ncclAlltoAll(const void* send, void* receive, size_t count, int type, gradsync::nccl::Comm comm,
                            gradsync::nccl::Stream stream);
GSD_EXPORT int ncclGather(const void* send, void* receive, size_t count, int type, int root, gradsync::nccl::Comm comm,
                          gradsync::nccl::Stream stream);
GSD_EXPORT int ncclScatter(const void* send, void* receive, size_t count, int type, int root, gradsync::nccl::Comm comm,
                           gradsync::nccl::Stream stream);
GSD_EXPORT int ncclSend(const void* send, size_t count, int type, int peer, gradsync::nccl::Comm comm,
                        gradsync::nccl::Stream stream);
GSD_EXPORT int ncclRecv(void* receive, size_t count, int type, int peer, gradsync::nccl::Comm comm,
                        gradsync::nccl::Stream stream);
GSD_EXPORT int ncclCommInitRank(gradsync::nccl::Comm* comm, int ranks, gradsync::nccl::UniqueId id, int rank);
GSD_EXPORT int ncclCommInitRankConfig(gradsync::nccl::Comm* comm, int ranks, gradsync::nccl::UniqueId id, int rank,
                                      void* config);
GSD_EXPORT int ncclCommInitRankScalable(gradsync::nccl::Comm* comm, int ranks, int rank, int id_count,
                                        gradsync::nccl::UniqueId* ids, void* config);
GSD_EXPORT int ncclCommSplit(gradsync::nccl::Comm comm, int color, int key, gradsync::nccl::Comm* made, void* config);
GSD_EXPORT int ncclCommDestroy(gradsync::nccl::Comm comm);
GSD_EXPORT int ncclCommAbort(gradsync::nccl::Comm comm);
GSD_EXPORT int ncclGroupStart();
GSD_EXPORT int ncclGroupEnd();
// NOLINTEND(readability-identifier-naming)
}
