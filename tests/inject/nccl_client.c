/* usage: nccl_client LIBNCCL
 * Calls the real library without a communicator: its NVTX range begins before it finds that out. No GPU is needed. */
#include <dlfcn.h>
#include <stddef.h>
#include <stdio.h>

typedef int (*reduction)(const void*, void*, size_t, int, int, void*, void*);
typedef int (*rooted)(const void*, void*, size_t, int, int, void*, void*);
typedef int (*gather)(const void*, void*, size_t, int, void*, void*);

enum { kFloat32 = 7, kSum = 0, kMax = 2, kInvalidArgument = 4 };

int main(int argc, char** argv) {
  void* nccl = argc == 2 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
  if (!nccl) {
    fprintf(stderr, "%s\n", argc == 2 ? dlerror() : "usage: nccl_client LIBNCCL");
    return 2;
  }
  int version = 0;
  ((int (*)(int*))dlsym(nccl, "ncclGetVersion"))(&version);
  printf("version %d\n", version);
  int refused = 0;
  for (int i = 0; i < 2; ++i) {
    refused +=
        ((reduction)dlsym(nccl, "ncclAllReduce"))(NULL, NULL, 1024, kFloat32, kSum, NULL, NULL) == kInvalidArgument;
    refused += ((rooted)dlsym(nccl, "ncclBroadcast"))(NULL, NULL, 10, kFloat32, 0, NULL, NULL) == kInvalidArgument;
    refused +=
        ((reduction)dlsym(nccl, "ncclReduceScatter"))(NULL, NULL, 100, kFloat32, kMax, NULL, NULL) == kInvalidArgument;
    refused += ((gather)dlsym(nccl, "ncclAllGather"))(NULL, NULL, 33, kFloat32, NULL, NULL) == kInvalidArgument;
  }
  printf("refused %d\n", refused);
  return refused == 8 ? 0 : 1;
}
