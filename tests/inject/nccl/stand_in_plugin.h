/* The profiler plug-in interface as NCCL sees it, for the stand-in: written from NCCL's public interface, apart from the
 * declarations of collectors/inject that it tests. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum {
  GROUP = 1,
  COLL = 2,
  P2P = 4,
  PROXY_OP = 8,
  PROXY_STEP = 16,
  KERNEL_CH = 64,
  CE_COLL = 4096,
  UNKNOWN_EVENT = 1 << 20
};
enum { STATE_SEND_WAIT = 9, STATE_KERNEL_STOP = 22 };

#define PROXY                            \
  struct {                               \
    pid_t pid;                           \
    uint8_t channelId;                   \
    int peer, nSteps, chunkSize, isSend; \
  } proxyOp;                             \
  struct {                               \
    int step;                            \
  } proxyStep
#define KERNEL         \
  struct {             \
    uint8_t channelId; \
    uint64_t pTimer;   \
  } kernelCh

typedef struct {
  uint8_t type;
  void* parentObj;
  int rank;
  union {
    struct {
      const char* name;
      uint64_t commHash, seqNumber;
      uint8_t func;
      const void* sendBuff;
      void* recvBuff;
      size_t count;
      int root;
      uint8_t datatype;
      uint32_t op;
      size_t trafficBytes;
      uint8_t nMaxChannels, nWarps, algo, proto;
      int isCollnet, isNvls;
    } coll;
    struct {
      const char* name;
      uint64_t commHash;
      uint8_t func;
      void* buff;
      uint8_t datatype;
      size_t count;
      int peer;
    } p2p;
    PROXY;
  };
} descriptor_v1;

typedef struct {
  uint8_t type;
  void* parentObj;
  int rank;
  union {
    struct {
      const char* name;
      uint64_t commHash, seqNumber;
      const char* func;
      const void* sendBuff;
      void* recvBuff;
      size_t count;
      int root;
      const char* datatype;
      size_t trafficBytes;
      uint8_t nMaxChannels, nWarps;
      const char *algo, *proto;
    } coll;
    struct {
      const char* name;
      uint64_t commHash;
      const char* func;
      void* buff;
      const char* datatype;
      size_t count;
      int peer;
    } p2p;
    PROXY;
  };
} descriptor_v2;

typedef struct {
  uint8_t type;
  void* parentObj;
  int rank;
  union {
    struct {
      const char* name;
      uint64_t commHash, seqNumber;
      const char* func;
      const void* sendBuff;
      void* recvBuff;
      size_t count;
      int root;
      const char* datatype;
      uint8_t nMaxChannels, nWarps;
      const char *algo, *proto;
    } coll;
    struct {
      const char* name;
      uint64_t commHash;
      const char* func;
      void* buff;
      const char* datatype;
      size_t count;
      int peer;
    } p2p;
    PROXY;
    struct {
      uint8_t channelId;
    } kernelCh;
  };
} descriptor_v3;

typedef struct {
  uint8_t type;
  void* parentObj;
  int rank;
  union {
    struct {
      uint64_t seqNumber;
      const char* func;
      const void* sendBuff;
      void* recvBuff;
      size_t count;
      int root;
      const char* datatype;
      uint8_t nChannels, nWarps;
      const char *algo, *proto;
    } coll;
    struct {
      const char* func;
      void* buff;
      const char* datatype;
      size_t count;
      int peer;
      uint8_t nChannels;
    } p2p;
    PROXY;
    KERNEL;
  };
} descriptor_v4;

typedef struct {
  uint64_t type;
  void* parentObj;
  int rank;
  union {
    struct {
      uint64_t seqNumber;
      const char* func;
      const void* sendBuff;
      void* recvBuff;
      size_t count;
      int root;
      const char* datatype;
      uint8_t nChannels, nWarps;
      const char *algo, *proto;
      void* parentGroup;
    } coll;
    struct {
      const char* func;
      void* buff;
      const char* datatype;
      size_t count;
      int peer;
      uint8_t nChannels;
      void* parentGroup;
    } p2p;
    PROXY;
    KERNEL;
  };
} descriptor_v5;

typedef struct {
  uint64_t type;
  void* parentObj;
  int rank;
  struct {
    uint64_t seqNumber;
    const char* func;
    const void* sendBuff;
    void* recvBuff;
    size_t count;
    int root;
    const char *datatype, *syncStrategy;
    bool intraBatchSync;
    uint32_t batchSize, numBatches, ceSeqNum;
    void* stream;
  } ceColl;
} descriptor_v6_ce;

typedef struct {
  const char* name;
  union {
    int (*v1)(void** context, int* mask);
    int (*v4)(void**, int*, const char* name, uint64_t hash, int nodes, int ranks, int rank, void* log);
    int (*v5)(void**, uint64_t hash, int*, const char* name, int nodes, int ranks, int rank, void* log);
  } init;
  int (*start)(void* context, void** handle, void* descriptor);
  int (*stop)(void* handle);
  int (*record)(void* handle, int state, void* arguments);
  int (*finalize)(void* context);
} plugin_table;
