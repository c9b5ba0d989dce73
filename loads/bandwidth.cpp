#include "loads/bandwidth.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>

#include "loads/cpu/kernels.h"
#include "loads/parallel.h"

namespace gradsync {
namespace {

template <class Function>
double seconds_of(const Function& function) {
  const auto begin = std::chrono::steady_clock::now();
  function();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

}  // namespace

BandwidthProbe::BandwidthProbe(std::int64_t elements, int threads) : threads_(threads) {
  from_.assign_zeros(elements);
  to_.assign_zeros(elements);
}

std::uint32_t BandwidthProbe::read() {
  std::atomic<std::uint32_t> sum = 0;
  for_parts(from_.size(), threads_, 1024,
            [&](const Part& part) { sum += kernels::sum_of_bits(from_.data() + part.begin, part.end - part.begin); });
  return sum;
}

void BandwidthProbe::copy() {
  for_parts(from_.size(), threads_, 1024, [&](const Part& part) {
    std::memcpy(to_.data() + part.begin, from_.data() + part.begin,
                static_cast<std::size_t>(part.end - part.begin) * sizeof(float));
  });
}

void BandwidthProbe::update() {
  for_parts(to_.size(), threads_, 1024, [&](const Part& part) {
    float* x = to_.data() + part.begin;
    kernels::add(x, x, x, part.end - part.begin);
  });
}

Bandwidth BandwidthProbe::from_seconds(double read, double copy, double update) const {
  const double bytes = 4 * static_cast<double>(from_.size());
  return {bytes / std::max(read, 1e-9), 2 * bytes / std::max(copy, 1e-9), 2 * bytes / std::max(update, 1e-9)};
}

Bandwidth BandwidthProbe::measure() {
  const double reading = seconds_of([&] { kept_ += read(); });
  const double copying = seconds_of([&] { copy(); });
  const double updating = seconds_of([&] { update(); });
  return from_seconds(reading, copying, updating);
}

double roofline_seconds(const Traffic& traffic, const Bandwidth& bandwidth) {
  const double unpaired = std::max(0.0, traffic.read - traffic.written);
  return unpaired / bandwidth.read + (traffic.read + traffic.written - unpaired) / bandwidth.copy +
         2 * traffic.updated / bandwidth.update;
}

}  // namespace gradsync
