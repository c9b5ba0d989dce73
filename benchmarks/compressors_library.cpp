// The reference compressors as C functions, for compressors.py: the same vector in the same process as PyTorch.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>

#include "loads/bandwidth.h"
#include "loads/library.h"
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

std::uint32_t gsd_read(const float* x, std::int64_t elements) {
  return gradsync::read_all({x, static_cast<std::size_t>(elements)}, 1);
}
void gsd_copy(const float* from, float* to, std::int64_t elements) {
  gradsync::copy_all({from, static_cast<std::size_t>(elements)}, {to, static_cast<std::size_t>(elements)}, 1);
}
void gsd_update(float* x, std::int64_t elements) { gradsync::update_all({x, static_cast<std::size_t>(elements)}, 1); }

// Seconds that memory needs for what the last call moved, where reading, copying and rewriting took so long.
double gsd_roofline(void* handle, double read, double copy, double update) {
  const auto& prepared = *static_cast<Prepared*>(handle);
  return gradsync::roofline_seconds(prepared.load->compress_traffic(),
                                    gradsync::bandwidth_of(prepared.elements, read, copy, update));
}

// The k-th largest magnitude by std::nth_element on a copy.
float gsd_nth_element(const float* magnitudes, std::int64_t elements, std::int64_t k, float* scratch) {
  std::memcpy(scratch, magnitudes, static_cast<std::size_t>(elements) * sizeof(float));
  std::nth_element(scratch, scratch + k - 1, scratch + elements, [](float a, float b) { return a > b; });
  return scratch[k - 1];
}
}
