// What kernels are written in: the part of CUDA's language that nvcc compiles for GPUs and fibres.h for this machine.
// One source, two compilers. No early return before a barrier, whole warps at every warp operation.
#pragma once

#ifdef __CUDACC__
#include <cuda_runtime.h>
#else
#include "loads/cuda/fibres.h"
#endif

#include <cstdint>

#include "loads/cuda/device.h"

namespace gradsync::cuda {

inline constexpr unsigned kAllLanes = 0xffffffff;
inline constexpr std::uint32_t kMagnitude = 0x7fffffff;
inline constexpr std::uint32_t kInfinity = 0x7f800000;
inline constexpr std::uint32_t kNan = 0x7fc00000;

#ifdef __CUDACC__
#define GSD_DEVICE __device__ inline
GSD_DEVICE std::uint32_t bits_of(float x) { return __float_as_uint(x); }
GSD_DEVICE float float_of(std::uint32_t bits) { return __uint_as_float(bits); }
#else
#define GSD_DEVICE inline
inline std::uint32_t bits_of(float x) { return std::bit_cast<std::uint32_t>(x); }
inline float float_of(std::uint32_t bits) { return std::bit_cast<float>(bits); }
#endif

struct alignas(16) Float4 {
  float at[4];
};

// Number of this thread in the grid, which has one dimension.
GSD_DEVICE std::int64_t thread_number() { return std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x; }
GSD_DEVICE std::int64_t thread_count() { return std::int64_t{gridDim.x} * blockDim.x; }

template <class T>
GSD_DEVICE T least(T a, T b) {
  return b < a ? b : a;
}
template <class T>
GSD_DEVICE T most(T a, T b) {
  return a < b ? b : a;
}

// Over the lanes of a warp, in a fixed order; every lane has the result.
template <class T>
GSD_DEVICE T warp_sum(T value) {
  for (unsigned mask = 16; mask > 0; mask /= 2) value += __shfl_xor_sync(kAllLanes, value, mask);
  return value;
}
GSD_DEVICE std::uint32_t warp_largest(std::uint32_t value) {
  for (unsigned mask = 16; mask > 0; mask /= 2) value = most(value, __shfl_xor_sync(kAllLanes, value, mask));
  return value;
}

// Over a block; every thread has the result. `shared`: 32 of them, free again after the next barrier.
template <class T>
GSD_DEVICE T block_sum(T value, T* shared) {
  value = warp_sum(value);
  if (threadIdx.x % 32 == 0) shared[threadIdx.x / 32] = value;
  __syncthreads();
  T total = 0;
  for (unsigned warp = 0; warp < blockDim.x / 32; ++warp) total += shared[warp];
  return total;
}

// ⌈elements / each⌉ blocks.
inline std::int64_t blocks_for(std::int64_t elements, std::int64_t each) { return (elements + each - 1) / each; }
// As many as keep the device busy, for kernels whose threads go on until nothing is left.
inline std::int64_t some_blocks(std::int64_t elements, std::int64_t each) {
  const std::int64_t all = blocks_for(elements, each), busy = std::int64_t{4} * multiprocessors();
  return all < busy ? all : busy;
}

// Starts a kernel; nothing when there are no blocks. Throws DeviceFailure with `name` when it cannot be started.
template <class... Parameters, class... Arguments>
void launch(const char* name, void (*kernel)(Parameters...), std::int64_t blocks, unsigned threads,
            const Arguments&... arguments) {
  if (blocks == 0) return;
#ifdef __CUDACC__
  kernel<<<static_cast<unsigned>(blocks), threads>>>(static_cast<Parameters>(arguments)...);
#else
  const auto call = [&] { kernel(static_cast<Parameters>(arguments)...); };
  struct Call final : fibres::Kernel {
    explicit Call(const decltype(call)& of) : of_(of) {}
    void run() override { of_(); }
    const decltype(call)& of_;
  } one(call);
  fibres::run(static_cast<unsigned>(blocks), threads, one);
#endif
  check_launch(name);
}

}  // namespace gradsync::cuda
