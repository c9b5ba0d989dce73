// Rooflines: the memory bandwidth of this machine, measured beside what is compared with it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>

#include "loads/load.h"

namespace gradsync {

struct Bandwidth {
  double read = 0, copy = 0, update = 0;  // bytes per second; what is read and what is written both count
};

// What is timed. The sum of what was read, so that it is read.
std::uint32_t read_all(std::span<const float> from, int threads);
void copy_all(std::span<const float> from, std::span<float> to, int threads);  // of the same size
void update_all(std::span<float> x, int threads);                              // doubles it
// From the seconds that these took.
inline Bandwidth bandwidth_of(std::int64_t elements, double read, double copy, double update) {
  const double bytes = 4 * static_cast<double>(elements);
  return {bytes / std::max(read, 1e-9), 2 * bytes / std::max(copy, 1e-9), 2 * bytes / std::max(update, 1e-9)};
}

// Reads, copies and rewrites in place vectors of a size, with as many threads as the loads. Buffers are kept.
class BandwidthProbe {
 public:
  virtual ~BandwidthProbe() = default;
  // One of each, timed.
  virtual Bandwidth measure() = 0;
};
std::unique_ptr<BandwidthProbe> cpu_bandwidth(std::int64_t elements, int threads);

// Seconds that `traffic` takes at this bandwidth: a write is paired with a read as a copy does, the reads that are left
// go at the speed of reading, and what is rewritten in place at that of rewriting.
inline double roofline_seconds(const Traffic& traffic, const Bandwidth& bandwidth) {
  const double unpaired = std::max(0.0, traffic.read - traffic.written);
  return unpaired / bandwidth.read + (traffic.read + traffic.written - unpaired) / bandwidth.copy +
         2 * traffic.updated / bandwidth.update;
}

}  // namespace gradsync
