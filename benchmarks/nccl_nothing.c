/* An NCCL whose calls do nothing: what remains is what is around them. */
#include <stddef.h>

int ncclAllReduce(const void* send, void* receive, size_t count, int type, int op, void* comm, void* stream);
int ncclAllReduce(const void* send, void* receive, size_t count, int type, int op, void* comm, void* stream) {
  return send == receive && count == 0 && type == op && comm == stream;
}
