#include "loads/cuda/fibres.h"

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <string>
#include <vector>

#include "loads/cuda/device_code.h"

using namespace gradsync;
using cuda::launch;

namespace {

constexpr unsigned kThreads = 96;

// Each thread tells its neighbour something, through shared memory.
__global__ void pass_on(const int* in, int* out) {
  __shared__ int shared[kThreads];
  shared[threadIdx.x] = in[blockIdx.x * blockDim.x + threadIdx.x];
  __syncthreads();
  out[blockIdx.x * blockDim.x + threadIdx.x] = shared[(threadIdx.x + 1) % kThreads];
}

// The same without the barrier.
__global__ void pass_on_at_once(const int* in, int* out) {
  __shared__ int shared[kThreads];
  shared[threadIdx.x] = in[threadIdx.x];
  out[threadIdx.x] = shared[(threadIdx.x + kThreads - 1) % kThreads];
}

__global__ void of_the_warp(std::uint32_t* ballots, unsigned* sums, unsigned* above, unsigned* below) {
  const unsigned i = threadIdx.x;
  ballots[i] = __ballot_sync(cuda::kAllLanes, i % 3 == 0);
  sums[i] = cuda::warp_sum(i);
  above[i] = __shfl_up_sync(cuda::kAllLanes, i, 1);
  below[i] = __shfl_down_sync(cuda::kAllLanes, i, 1);
}

__global__ void of_the_block(double* sums) {
  __shared__ double shared[32];
  sums[threadIdx.x] = cuda::block_sum(static_cast<double>(threadIdx.x), shared);
}

__global__ void count(unsigned* counter) { atomicAdd(counter, 1U); }

__global__ void half_at_a_barrier() {
  if (threadIdx.x < 32) __syncthreads();
}
__global__ void half_of_a_warp() {
  if (threadIdx.x < 16) __ballot_sync(cuda::kAllLanes, true);
}
__global__ void nothing() {}

// What a process says that runs a kernel and is ended by it.
std::string last_words_of(void (*kernel)(), unsigned threads) {
  int ends[2];
  REQUIRE(::pipe(ends) == 0);
  const pid_t child = ::fork();
  if (child == 0) {
    ::dup2(ends[1], STDERR_FILENO);
    std::signal(SIGABRT, SIG_DFL);  // doctest's own would speak
    launch("", kernel, 1, threads);
    ::_exit(0);
  }
  ::close(ends[1]);
  std::string words;
  char some[256];
  for (ssize_t count = 0; (count = ::read(ends[0], some, sizeof some)) > 0;)
    words.append(some, static_cast<std::size_t>(count));
  ::close(ends[0]);
  int status = 0;
  ::waitpid(child, &status, 0);
  CHECK(WIFSIGNALED(status));
  return words;
}

struct InOrder {
  explicit InOrder(fibres::Order order) { fibres::set_order(order); }
  ~InOrder() { fibres::set_order(fibres::Order::ascending); }
};

}  // namespace

TEST_CASE("threads of a block meet at barriers, blocks have memory of their own") {
  std::vector<int> in(3 * kThreads), out(in.size());
  for (std::size_t i = 0; i < in.size(); ++i) in[i] = static_cast<int>(i * i);
  for (const auto order : {fibres::Order::ascending, fibres::Order::descending}) {
    const InOrder in_order(order);
    launch("", pass_on, 3, kThreads, in.data(), out.data());
    for (std::size_t i = 0; i < in.size(); ++i)
      CHECK(out[i] == in[i / kThreads * kThreads + (i % kThreads + 1) % kThreads]);
  }
}

TEST_CASE("where a barrier is missing, one of the two orders shows it") {
  std::vector<int> in(kThreads, 1), out(kThreads);
  int right = 0;
  for (const auto order : {fibres::Order::ascending, fibres::Order::descending}) {
    const InOrder in_order(order);
    for (int& value : in) ++value;
    launch("", pass_on_at_once, 1, kThreads, in.data(), out.data());
    right += out == in ? 1 : 0;
  }
  CHECK(right < 2);
}

TEST_CASE("lanes of a warp vote, add and hand on") {
  std::vector<std::uint32_t> ballots(64), sums(64), above(64), below(64);
  launch("", of_the_warp, 1, 64, ballots.data(), sums.data(), above.data(), below.data());
  for (std::uint32_t i = 0; i < 64; ++i) {
    const std::uint32_t first = i / 32 * 32;
    std::uint32_t expected = 0;
    for (std::uint32_t lane = 0; lane < 32; ++lane) expected |= ((first + lane) % 3 == 0 ? 1U : 0U) << lane;
    CHECK(ballots[i] == expected);
    CHECK(sums[i] == 32 * first + 31 * 16);
    CHECK(above[i] == (i % 32 == 0 ? i : i - 1));
    CHECK(below[i] == (i % 32 == 31 ? i : i + 1));
  }
}

TEST_CASE("a block adds up, every thread counts once") {
  std::vector<double> sums(1024);
  launch("", of_the_block, 1, 1024, sums.data());
  for (const double sum : sums) CHECK(sum == 1023 * 512);
  unsigned counter = 0;
  launch("", count, 7, 256, &counter);
  CHECK(counter == 7 * 256);
  launch("", count, 0, 256, &counter);  // no blocks: nothing
  CHECK(counter == 7 * 256);
}

TEST_CASE("kernels that a device would hang on, or worse, are ended with the reason") {
  CHECK(last_words_of(half_at_a_barrier, 64) ==
        "kernel under fibres, block 0: some threads ended, others wait at a barrier\n");
  CHECK(last_words_of(half_of_a_warp, 64) ==
        "kernel under fibres, block 0: not all lanes of a warp are at its operation\n");
  CHECK(last_words_of(nothing, 33) == "kernel under fibres, block 0: a block is 32 to 1024 threads\n");
}
