// CUDA's kernel language for the host's compiler, so that indexing, tails and barriers of kernels are tested on machines
// without a GPU. Each thread of a block is a fibre; one runs until it meets a barrier or an operation of its warp.
//
//   block 0:  warp 0: lane 0 ─▶ barrier, lane 1 ─▶ barrier, …   warp 1: …    all are there: on they go    block 1: …
//
// What is checked on the way: all threads of a block meet at the same barriers, all 32 lanes of a warp at the same warp
// operations; where they do not the process is ended with the reason. What no fibre can show: races between blocks,
// the order of memory, and speed. Fibres of a block may run from the last to the first as well (Order): what only holds
// in one of the orders lacks a barrier.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

namespace gradsync::fibres {

struct Index {
  unsigned x = 0;
};
// Where the running fibre is.
struct Place {
  Index thread, block, block_size, grid_size;
};
inline thread_local Place here;

enum class Order { ascending, descending };
// Of the threads of a block, in this host thread from now on.
void set_order(Order order);

// A kernel with its arguments.
class Kernel {
 public:
  virtual void run() = 0;

 protected:
  ~Kernel() = default;
};
// `threads` is a multiple of 32, at most 1024.
void run(unsigned blocks, unsigned threads, Kernel& kernel);

// Barriers, called by fibres. meet() waits for the 32 lanes of the warp and returns what each of them brought.
void wait_for_block();
const std::uint64_t* meet(std::uint64_t brought);
inline unsigned lane() { return here.thread.x % 32; }

template <class T>
T lane_value(const std::uint64_t* all, unsigned from) {
  static_assert(sizeof(T) <= 8);
  if constexpr (sizeof(T) == 8)
    return std::bit_cast<T>(all[from]);
  else
    return std::bit_cast<T>(static_cast<std::uint32_t>(all[from]));
}
template <class T>
const std::uint64_t* meet_with(T value) {
  if constexpr (sizeof(T) == 8)
    return meet(std::bit_cast<std::uint64_t>(value));
  else
    return meet(std::bit_cast<std::uint32_t>(value));
}

}  // namespace gradsync::fibres

// The words of the language. A block runs on one host thread, so what it shares is that thread's.
#define __global__
#define __device__
#define __host__
#define __shared__ static thread_local
#define __launch_bounds__(...)
#define threadIdx (::gradsync::fibres::here.thread)
#define blockIdx (::gradsync::fibres::here.block)
#define blockDim (::gradsync::fibres::here.block_size)
#define gridDim (::gradsync::fibres::here.grid_size)

inline void __syncthreads() { gradsync::fibres::wait_for_block(); }
inline void __threadfence() {}

inline unsigned __ballot_sync(unsigned, bool mine) {
  const std::uint64_t* all = gradsync::fibres::meet(mine ? 1 : 0);
  unsigned bits = 0;
  for (unsigned lane = 0; lane < 32; ++lane) bits |= static_cast<unsigned>(all[lane]) << lane;
  return bits;
}
template <class T>
T __shfl_sync(unsigned, T value, unsigned from) {
  return gradsync::fibres::lane_value<T>(gradsync::fibres::meet_with(value), from % 32);
}
template <class T>
T __shfl_xor_sync(unsigned, T value, unsigned mask) {
  return gradsync::fibres::lane_value<T>(gradsync::fibres::meet_with(value), gradsync::fibres::lane() ^ mask);
}
template <class T>
T __shfl_up_sync(unsigned, T value, unsigned by) {
  const unsigned lane = gradsync::fibres::lane();
  return gradsync::fibres::lane_value<T>(gradsync::fibres::meet_with(value), lane >= by ? lane - by : lane);
}
template <class T>
T __shfl_down_sync(unsigned, T value, unsigned by) {
  const unsigned lane = gradsync::fibres::lane();
  return gradsync::fibres::lane_value<T>(gradsync::fibres::meet_with(value), lane + by < 32 ? lane + by : lane);
}

inline int __popc(unsigned word) { return std::popcount(word); }
inline int __clz(unsigned word) { return std::countl_zero(word); }
template <class T>
T atomicAdd(T* at, T value) {
  const T before = *at;
  *at = before + value;
  return before;
}
inline unsigned atomicOr(unsigned* at, unsigned value) {
  const unsigned before = *at;
  *at = before | value;
  return before;
}
