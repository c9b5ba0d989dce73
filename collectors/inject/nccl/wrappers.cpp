#include "collectors/inject/nccl/wrappers.h"

#include "collectors/inject/cupti/collective_guard.h"
#include "collectors/inject/nccl/labels.h"
#include "collectors/inject/nccl/libraries.h"
#include "collectors/inject/nccl/wrapped_call.h"

namespace gradsync::nccl {
namespace {

template <typename... Arguments>
Result pass(NcclFunction function, const void* caller, Arguments... arguments) {
  auto* real = reinterpret_cast<Result (*)(Arguments...)>(real_function(function, caller));
  return real == nullptr ? kInternalError : real(arguments...);
}

}  // namespace
}  // namespace gradsync::nccl

using namespace gradsync::nccl;

#define CALLER __builtin_return_address(0)

extern "C" {

int ncclAllReduce(const void* send, void* receive, size_t count, int type, int operation, Comm comm, Stream stream) {
  WrappedCall call({NcclFunction::all_reduce, count, type, operation, comm, stream});
  return call.returned(pass(NcclFunction::all_reduce, CALLER, send, receive, count, type, operation, comm, stream));
}

int ncclAllGather(const void* send, void* receive, size_t count, int type, Comm comm, Stream stream) {
  WrappedCall call({NcclFunction::all_gather, count, type, kNoReduction, comm, stream});
  return call.returned(pass(NcclFunction::all_gather, CALLER, send, receive, count, type, comm, stream));
}

int ncclReduceScatter(const void* send, void* receive, size_t count, int type, int operation, Comm comm,
                      Stream stream) {
  WrappedCall call({NcclFunction::reduce_scatter, count, type, operation, comm, stream});
  return call.returned(pass(NcclFunction::reduce_scatter, CALLER, send, receive, count, type, operation, comm, stream));
}

int ncclBroadcast(const void* send, void* receive, size_t count, int type, int root, Comm comm, Stream stream) {
  WrappedCall call({NcclFunction::broadcast, count, type, kNoReduction, comm, stream});
  return call.returned(pass(NcclFunction::broadcast, CALLER, send, receive, count, type, root, comm, stream));
}

int ncclBcast(void* buffer, size_t count, int type, int root, Comm comm, Stream stream) {
  WrappedCall call({NcclFunction::bcast, count, type, kNoReduction, comm, stream});
  return call.returned(pass(NcclFunction::bcast, CALLER, buffer, count, type, root, comm, stream));
}

int ncclReduce(const void* send, void* receive, size_t count, int type, int operation, int root, Comm comm,
               Stream stream) {
  WrappedCall call({NcclFunction::reduce, count, type, operation, comm, stream});
  return call.returned(pass(NcclFunction::reduce, CALLER, send, receive, count, type, operation, root, comm, stream));
}

int ncclAlltoAll(const void* send, void* receive, size_t count, int type, Comm comm, Stream stream) {
  WrappedCall call({NcclFunction::all_to_all, count, type, kNoReduction, comm, stream});
  return call.returned(pass(NcclFunction::all_to_all, CALLER, send, receive, count, type, comm, stream));
}

int ncclGather(const void* send, void* receive, size_t count, int type, int root, Comm comm, Stream stream) {
  WrappedCall call({NcclFunction::gather, count, type, kNoReduction, comm, stream});
  return call.returned(pass(NcclFunction::gather, CALLER, send, receive, count, type, root, comm, stream));
}

int ncclScatter(const void* send, void* receive, size_t count, int type, int root, Comm comm, Stream stream) {
  WrappedCall call({NcclFunction::scatter, count, type, kNoReduction, comm, stream});
  return call.returned(pass(NcclFunction::scatter, CALLER, send, receive, count, type, root, comm, stream));
}

int ncclSend(const void* send, size_t count, int type, int peer, Comm comm, Stream stream) {
  WrappedCall call({NcclFunction::send, count, type, kNoReduction, comm, stream});
  return call.returned(pass(NcclFunction::send, CALLER, send, count, type, peer, comm, stream));
}

int ncclRecv(void* receive, size_t count, int type, int peer, Comm comm, Stream stream) {
  WrappedCall call({NcclFunction::receive, count, type, kNoReduction, comm, stream});
  return call.returned(pass(NcclFunction::receive, CALLER, receive, count, type, peer, comm, stream));
}

int ncclCommInitRank(Comm* comm, int ranks, UniqueId id, int rank) {
  const Nested call;
  const Result result = pass(NcclFunction::init_rank, CALLER, comm, ranks, id, rank);
  if (call.outermost() && comm != nullptr) label_from_ids(*comm, &id, 1);
  return result;
}

int ncclCommInitRankConfig(Comm* comm, int ranks, UniqueId id, int rank, void* config) {
  const Nested call;
  const Result result = pass(NcclFunction::init_rank_config, CALLER, comm, ranks, id, rank, config);
  if (call.outermost() && comm != nullptr) label_from_ids(*comm, &id, 1);
  return result;
}

int ncclCommInitRankScalable(Comm* comm, int ranks, int rank, int id_count, UniqueId* ids, void* config) {
  const Nested call;
  const Result result = pass(NcclFunction::init_rank_scalable, CALLER, comm, ranks, rank, id_count, ids, config);
  if (call.outermost() && comm != nullptr && ids != nullptr) label_from_ids(*comm, ids, id_count);
  return result;
}

int ncclCommSplit(Comm comm, int color, int key, Comm* made, void* config) {
  const Nested call;
  const uint64_t parent = label_of(comm);
  const Result result = pass(NcclFunction::split, CALLER, comm, color, key, made, config);
  if (call.outermost()) label_from_split(made == nullptr ? nullptr : *made, parent, color);
  return result;
}

int ncclCommDestroy(Comm comm) {
  const Nested call;
  if (call.outermost()) forget_label(comm);
  return pass(NcclFunction::destroy, CALLER, comm);
}

int ncclCommAbort(Comm comm) {
  const Nested call;
  if (call.outermost()) forget_label(comm);
  return pass(NcclFunction::abort, CALLER, comm);
}

int ncclGroupStart() {
  const Nested call;
  if (call.outermost()) begin_group();
  return pass(NcclFunction::group_start, CALLER);
}

int ncclGroupEnd() {
  const Nested call;
  gradsync::cupti::collective_begins();
  const Result result = pass(NcclFunction::group_end, CALLER);
  gradsync::cupti::collective_ended();
  if (call.outermost()) end_group(result);
  return result;
}
}
