#include "loads/bandwidth.h"

#include <algorithm>
#include <atomic>
#include <cstring>

#include "loads/cpu/kernels.h"
#include "loads/parallel.h"
#include "src/base/seconds_of.h"

namespace gradsync {
namespace {

class CpuBandwidth final : public BandwidthProbe {
 public:
  CpuBandwidth(std::int64_t elements, int threads) : threads_(threads) {
    from_.assign_zeros(elements);
    to_.assign_zeros(elements);
  }
  Bandwidth measure() override {
    const double read = seconds_of([&] { kept_ += read_all(from_.span(), threads_); });
    const double copy = seconds_of([&] { copy_all(from_.span(), to_.span(), threads_); });
    const double update = seconds_of([&] { update_all(to_.span(), threads_); });
    return bandwidth_of(from_.size(), read, copy, update);
  }

 private:
  int threads_;
  Buffer<float> from_, to_;
  std::uint32_t kept_ = 0;
};

}  // namespace

std::unique_ptr<BandwidthProbe> cpu_bandwidth(std::int64_t elements, int threads) {
  return std::make_unique<CpuBandwidth>(elements, threads);
}

std::uint32_t read_all(std::span<const float> from, int threads) {
  std::atomic<std::uint32_t> sum = 0;
  for_parts(static_cast<std::int64_t>(from.size()), threads, 1024,
            [&](const Part& part) { sum += kernels::sum_of_bits(from.data() + part.begin, part.end - part.begin); });
  return sum;
}

void copy_all(std::span<const float> from, std::span<float> to, int threads) {
  for_parts(static_cast<std::int64_t>(from.size()), threads, 1024, [&](const Part& part) {
    std::memcpy(to.data() + part.begin, from.data() + part.begin,
                static_cast<std::size_t>(part.end - part.begin) * sizeof(float));
  });
}

void update_all(std::span<float> x, int threads) {
  for_parts(static_cast<std::int64_t>(x.size()), threads, 1024, [&](const Part& part) {
    float* some = x.data() + part.begin;
    kernels::add(some, some, some, part.end - part.begin);
  });
}

}  // namespace gradsync
