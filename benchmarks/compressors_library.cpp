// The reference compressors as C functions, for compressors.py: the same vector in the same process as PyTorch.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <new>

#include "loads/bandwidth.h"
#include "loads/load.h"

namespace {

struct Prepared {
  std::unique_ptr<gradsync::Load> load;
  gradsync::Payload payload;
  std::int64_t elements = 0;
};

}  // namespace

extern "C" {

// Null: there is no such load, or no memory.
void* gsd_prepare(const char* algorithm, std::int64_t elements, double ratio, int threads) {
  for (const gradsync::LoadEntry& entry : gradsync::cpu_loads()) {
    if (entry.algorithm != algorithm) continue;
    auto prepared = std::make_unique<Prepared>();
    prepared->load = entry.make({.ratio = ratio, .threads = threads});
    prepared->elements = elements;
    if (!prepared->load->prepare(elements, 1)) return nullptr;
    prepared->load->reserve(prepared->payload);
    return prepared.release();
  }
  return nullptr;
}

void gsd_compress(void* handle, const float* gradient) {
  auto& prepared = *static_cast<Prepared*>(handle);
  prepared.load->compress({gradient, static_cast<std::size_t>(prepared.elements)}, prepared.payload);
}

std::int64_t gsd_count(void* handle) { return static_cast<Prepared*>(handle)->payload.indices.size(); }

float gsd_smallest(void* handle) {
  float smallest = INFINITY;
  for (const float value : static_cast<Prepared*>(handle)->payload.values.span())
    smallest = std::min(smallest, std::fabs(value));
  return smallest;
}

void* gsd_bandwidth_probe(std::int64_t elements, int threads) {
  return new (std::nothrow) gradsync::BandwidthProbe(elements, threads);
}

std::uint32_t gsd_read(void* probe) { return static_cast<gradsync::BandwidthProbe*>(probe)->read(); }
void gsd_copy(void* probe) { static_cast<gradsync::BandwidthProbe*>(probe)->copy(); }
void gsd_update(void* probe) { static_cast<gradsync::BandwidthProbe*>(probe)->update(); }

// Seconds that memory needs for what the last call moved, where reading, copying and rewriting took so long.
double gsd_roofline(void* handle, void* probe, double read, double copy, double update) {
  return gradsync::roofline_seconds(static_cast<Prepared*>(handle)->load->compress_traffic(),
                                    static_cast<gradsync::BandwidthProbe*>(probe)->from_seconds(read, copy, update));
}

// The k-th largest magnitude by std::nth_element on a copy.
float gsd_nth_element(const float* magnitudes, std::int64_t elements, std::int64_t k, float* scratch) {
  std::memcpy(scratch, magnitudes, static_cast<std::size_t>(elements) * sizeof(float));
  std::nth_element(scratch, scratch + k - 1, scratch + elements, [](float a, float b) { return a > b; });
  return scratch[k - 1];
}
}
