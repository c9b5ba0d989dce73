// Our declarations of NCCL's interface against the vendor's own header, where there is one.
#include "collectors/fabric/abi/nccl_abi.h"

#include <doctest/doctest.h>

#include "tests/unit/fabric/same_shape.h"

using namespace gradsync;

#if __has_include(<nccl.h>) && __has_include(<cuda_runtime.h>)
#include <nccl.h>

#define SAME(ours, theirs) static_assert(SameShape<decltype(nccl::Functions::ours), decltype(&(theirs))>::value)
SAME(get_version, ncclGetVersion);
SAME(get_unique_id, ncclGetUniqueId);
SAME(comm_init_rank, ncclCommInitRank);
SAME(comm_destroy, ncclCommDestroy);
SAME(comm_abort, ncclCommAbort);
SAME(comm_get_async_error, ncclCommGetAsyncError);
SAME(get_error_string, ncclGetErrorString);
SAME(all_reduce, ncclAllReduce);
SAME(all_gather, ncclAllGather);
SAME(reduce_scatter, ncclReduceScatter);
SAME(broadcast, ncclBroadcast);
SAME(send, ncclSend);
SAME(receive, ncclRecv);
SAME(group_start, ncclGroupStart);
SAME(group_end, ncclGroupEnd);
#if NCCL_VERSION_CODE >= NCCL_VERSION(2, 13, 0)
SAME(get_last_error, ncclGetLastError);
#endif
#if NCCL_VERSION_CODE >= NCCL_VERSION(2, 28, 0)
SAME(all_to_all, ncclAlltoAll);
#endif
static_assert(sizeof(nccl::UniqueId) == sizeof(ncclUniqueId));
static_assert(alignof(nccl::UniqueId) == alignof(ncclUniqueId));
static_assert(int{nccl::kSuccess} == int{ncclSuccess} && int{nccl::kUnhandledCudaError} == int{ncclUnhandledCudaError});
static_assert(int{nccl::kSystemError} == int{ncclSystemError} && int{nccl::kInternalError} == int{ncclInternalError});
static_assert(int{nccl::kInvalidArgument} == int{ncclInvalidArgument});
static_assert(int{nccl::kInvalidUsage} == int{ncclInvalidUsage});
#if NCCL_VERSION_CODE >= NCCL_VERSION(2, 14, 0)
static_assert(int{nccl::kRemoteError} == int{ncclRemoteError} && int{nccl::kInProgress} == int{ncclInProgress});
#endif
static_assert(int{nccl::kInt8} == int{ncclInt8} && int{nccl::kFloat16} == int{ncclFloat16});
static_assert(int{nccl::kFloat32} == int{ncclFloat32} && int{nccl::kSum} == int{ncclSum});
static_assert(nccl::version_code(2, 8, 4) == NCCL_VERSION(2, 8, 4));
static_assert(nccl::version_code(NCCL_MAJOR, NCCL_MINOR, NCCL_PATCH) == NCCL_VERSION_CODE);

TEST_CASE("NCCL's interface: as in the vendor's header") { MESSAGE("compared with NCCL ", NCCL_VERSION_CODE); }
#else
TEST_CASE("NCCL's interface: as in the vendor's header" * doctest::skip()) {}  // no <nccl.h> here
#endif

TEST_CASE("NCCL's interface: versions are coded as NCCL codes them") {
  CHECK(nccl::version_code(2, 7, 8) == 2708);
  CHECK(nccl::version_code(2, 28, 9) == 22809);
}
