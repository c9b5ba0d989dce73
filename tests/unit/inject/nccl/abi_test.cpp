// Our declarations of NCCL's interface, and the wrappers' signatures, against the vendor's own header, where there is
// one. The profiler plug-in's header is not shipped with the library: its layout is asserted where it is declared.
#include "collectors/inject/abi/nccl_abi.h"

#include <doctest/doctest.h>

#include <string_view>

#include "collectors/inject/abi/nccl_profiler_abi.h"

#if __has_include(<nccl.h>) && __has_include(<cuda_runtime.h>)
// The wrappers have NCCL's names.
#define ncclAllReduce ours_all_reduce
#define ncclAllGather ours_all_gather
#define ncclReduceScatter ours_reduce_scatter
#define ncclBroadcast ours_broadcast
#define ncclBcast ours_bcast
#define ncclReduce ours_reduce
#define ncclAlltoAll ours_all_to_all
#define ncclGather ours_gather
#define ncclScatter ours_scatter
#define ncclSend ours_send
#define ncclRecv ours_receive
#define ncclCommInitRank ours_init_rank
#define ncclCommInitRankConfig ours_init_rank_config
#define ncclCommInitRankScalable ours_init_rank_scalable
#define ncclCommSplit ours_split
#define ncclCommDestroy ours_destroy
#define ncclCommAbort ours_abort
#define ncclGroupStart ours_group_start
#define ncclGroupEnd ours_group_end
#include "collectors/inject/nccl/wrappers.h"
#undef ncclAllReduce
#undef ncclAllGather
#undef ncclReduceScatter
#undef ncclBroadcast
#undef ncclBcast
#undef ncclReduce
#undef ncclAlltoAll
#undef ncclGather
#undef ncclScatter
#undef ncclSend
#undef ncclRecv
#undef ncclCommInitRank
#undef ncclCommInitRankConfig
#undef ncclCommInitRankScalable
#undef ncclCommSplit
#undef ncclCommDestroy
#undef ncclCommAbort
#undef ncclGroupStart
#undef ncclGroupEnd
#include <nccl.h>

#include "tests/unit/fabric/same_shape.h"

using namespace gradsync;
using namespace gradsync::nccl;

#define SAME(ours, theirs) static_assert(SameShape<decltype(&ours), decltype(&theirs)>::value)
SAME(ours_all_reduce, ncclAllReduce);
SAME(ours_all_gather, ncclAllGather);
SAME(ours_reduce_scatter, ncclReduceScatter);
SAME(ours_broadcast, ncclBroadcast);
SAME(ours_bcast, ncclBcast);
SAME(ours_reduce, ncclReduce);
SAME(ours_send, ncclSend);
SAME(ours_receive, ncclRecv);
SAME(ours_init_rank, ncclCommInitRank);
SAME(ours_destroy, ncclCommDestroy);
SAME(ours_abort, ncclCommAbort);
SAME(ours_group_start, ncclGroupStart);
SAME(ours_group_end, ncclGroupEnd);
#if NCCL_VERSION_CODE >= NCCL_VERSION(2, 18, 0)
SAME(ours_init_rank_config, ncclCommInitRankConfig);
SAME(ours_split, ncclCommSplit);
#endif
#if NCCL_VERSION_CODE >= NCCL_VERSION(2, 23, 0)
SAME(ours_init_rank_scalable, ncclCommInitRankScalable);
#endif
#if NCCL_VERSION_CODE >= NCCL_VERSION(2, 28, 0)
SAME(ours_all_to_all, ncclAlltoAll);
SAME(ours_gather, ncclGather);
SAME(ours_scatter, ncclScatter);
#endif

static_assert(sizeof(nccl::UniqueId) == sizeof(ncclUniqueId));
static_assert(kSuccess == ncclSuccess && kInternalError == ncclInternalError && kInProgress == ncclInProgress);

TEST_CASE("data types and reductions have NCCL's numbers") {
  CHECK(data_type(ncclInt8)->bytes == 1);
  CHECK(data_type(ncclUint8)->name == std::string_view("uint8"));
  CHECK(data_type(ncclInt32)->bytes == 4);
  CHECK(data_type(ncclUint64)->name == std::string_view("uint64"));
  CHECK(data_type(ncclFloat16)->name == std::string_view("float16"));
  CHECK(data_type(ncclFloat32)->name == std::string_view("float32"));
  CHECK(data_type(ncclFloat64)->bytes == 8);
  CHECK(data_type(ncclBfloat16)->name == std::string_view("bfloat16"));
  CHECK(kReductionNames[ncclSum] == std::string_view("sum"));
  CHECK(kReductionNames[ncclMax] == std::string_view("max"));
  CHECK(kReductionNames[ncclAvg] == std::string_view("avg"));
}
#else
TEST_CASE("no <nccl.h> on this machine: its numbers were not compared") { MESSAGE("skipped"); }
#endif

TEST_CASE("a type that we do not know has no size") {
  CHECK(gradsync::nccl::data_type(-1) == nullptr);
  CHECK(gradsync::nccl::data_type(gradsync::nccl::kDataTypes) == nullptr);
}
