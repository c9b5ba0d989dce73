// Theoretical occupancy, against cases worked out by hand, and against the vendor's own calculator where it is there.
#include "collectors/inject/cupti/occupancy.h"

#include <doctest/doctest.h>

#include <initializer_list>

#if __has_include(<cuda_occupancy.h>)
#include <cuda_occupancy.h>
#endif

using namespace gradsync::cupti;

namespace {

constexpr DeviceLimits kH100{32, 2048, 32, 65536, 233472, 1024, 9};
constexpr DeviceLimits kA10{32, 1536, 16, 65536, 102400, 1024, 8};
constexpr DeviceLimits kT4{32, 1024, 16, 65536, 65536, 0, 7};

}  // namespace

TEST_CASE("occupancy by hand") {
  struct {
    DeviceLimits limits;
    Launch launch;
    uint32_t percent;
    const char* bound;
  } const cases[] = {
      {kH100, {256, 32, 0}, 100, "nothing"},
      {kH100, {256, 64, 0}, 50, "registers: 2048 a warp, 8 warps in each quarter"},
      {kH100, {32, 16, 0}, 50, "32 blocks of one warp"},
      {kH100, {128, 32, 60000}, 18, "shared memory: 3 blocks of 4 warps of 64"},
      {kH100, {1024, 255, 0}, 0, "a launch that cannot be"},
      {kA10, {256, 40, 0}, 100, "6 blocks of 8 warps fill 48"},
      {kT4, {96, 0, 0}, 93, "10 blocks of 3 warps of 32"},
      {DeviceLimits{}, {256, 32, 0}, 0, "limits not told"},
      {kH100, {0, 32, 0}, 0, "no block"},
  };
  for (const auto& one : cases) {
    CAPTURE(one.bound);
    CHECK(occupancy_percent(one.limits, one.launch) == one.percent);
  }
}

TEST_CASE("multiprocessors that get a block") {
  DeviceLimits limits = kH100;
  CHECK(multiprocessors_percent(limits, 100) == 0);  // not told
  limits.multiprocessors = 132;
  CHECK(multiprocessors_percent(limits, 0) == 0);
  CHECK(multiprocessors_percent(limits, 1) == 1);
  CHECK(multiprocessors_percent(limits, 66) == 50);
  CHECK(multiprocessors_percent(limits, 131) == 99);
  CHECK(multiprocessors_percent(limits, 132) == 100);
  CHECK(multiprocessors_percent(limits, uint64_t{1} << 40) == 100);
}

#if __has_include(<cuda_occupancy.h>)
TEST_CASE("occupancy as the vendor's calculator has it") {
  for (const DeviceLimits& limits : {kH100, kA10, kT4}) {
    cudaOccDeviceProp device;
    device.computeMajor = static_cast<int>(limits.major);
    device.computeMinor = limits.major == 8 ? 6 : limits.major == 7 ? 5 : 0;
    device.maxThreadsPerBlock = 1024;
    device.maxThreadsPerMultiprocessor = static_cast<int>(limits.threads);
    device.regsPerBlock = device.regsPerMultiprocessor = static_cast<int>(limits.registers);
    device.warpSize = 32;
    device.sharedMemPerBlock = 49152;
    device.sharedMemPerMultiprocessor = limits.shared_bytes;
    device.numSms = 1;
    device.sharedMemPerBlockOptin = limits.shared_bytes - limits.reserved_shared_bytes;
    device.reservedSharedMemPerBlock = limits.reserved_shared_bytes;
    for (const uint32_t threads : {32u, 96u, 128u, 250u, 256u, 384u, 512u, 768u, 1024u})
      for (const uint32_t registers : {16u, 24u, 32u, 33u, 40u, 64u, 96u, 128u, 255u})
        for (const uint32_t shared : {0u, 1u, 1024u, 10000u, 40000u, 60000u}) {
          cudaOccFuncAttributes function;
          function.maxThreadsPerBlock = 1024;
          function.numRegs = static_cast<int>(registers);
          function.sharedSizeBytes = 0;
          function.partitionedGCConfig = PARTITIONED_GC_OFF;
          function.shmemLimitConfig = FUNC_SHMEM_LIMIT_OPTIN;
          function.maxDynamicSharedSizeBytes = device.sharedMemPerBlockOptin;
          function.numBlockBarriers = 1;
          cudaOccDeviceState state;
          state.carveoutConfig = SHAREDMEM_CARVEOUT_MAX_SHARED;
          cudaOccResult result{};
          const cudaOccError error = cudaOccMaxActiveBlocksPerMultiprocessor(&result, &device, &function, &state,
                                                                             static_cast<int>(threads), shared);
          CAPTURE(limits.major);
          CAPTURE(threads);
          CAPTURE(registers);
          CAPTURE(shared);
          REQUIRE(error == CUDA_OCC_SUCCESS);
          const uint32_t warps = (threads + 31) / 32, most = limits.threads / 32;
          CHECK(occupancy_percent(limits, {threads, registers, shared}) ==
                static_cast<uint32_t>(result.activeBlocksPerMultiprocessor) * warps * 100 / most);
        }
  }
}
#endif
