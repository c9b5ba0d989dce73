// powersgd: the gradient as a matrix M (a × b, nearly square), sent as two thin factors (loads/cpu/powersgd.cpp has the
// steps). Sums are made in a fixed order, so that the same comes out again; they are not those of the CPU, digit for digit.
//
//   P = M Q     a warp a row: lanes stride over its columns, four factors at a time
//   orthonormal one block, column after column
//   Q = Mᵀ P    a thread a column in each of some slabs of rows, then the slabs are added in their order
//
// R 2 × 4n; on the wire 4 r (a + b) and the rest.
#include <cmath>

#include "loads/cuda/cuda_load.h"
#include "loads/cuda/device_code.h"
#include "loads/philox.h"

namespace gradsync::cuda {
namespace {

constexpr unsigned kThreads = 256, kColumnThreads = 1024;
constexpr int kFactors = 4;          // at a time
constexpr std::int64_t kSlab = 128;  // rows

struct Shape {
  std::int64_t rows, columns, rank;
};

__global__ void multiply(const float* m, const float* q, Shape shape, float* p) {
  const std::int64_t row = thread_number() / 32;
  const unsigned lane = threadIdx.x % 32;
  const bool there = row < shape.rows;
  for (std::int64_t c = 0; c < shape.rank; c += kFactors) {
    float sums[kFactors] = {0, 0, 0, 0};
    for (std::int64_t j = lane; there && j < shape.columns; j += 32) {
      const float element = m[row * shape.columns + j];
      for (int k = 0; k < kFactors; ++k)
        if (c + k < shape.rank) sums[k] += element * q[(c + k) * shape.columns + j];
    }
    for (int k = 0; k < kFactors; ++k) {
      const float sum = warp_sum(sums[k]);
      if (there && lane == 0 && c + k < shape.rank) p[(c + k) * shape.rows + row] = sum;
    }
  }
}

GSD_DEVICE double dot(const float* a, const float* b, std::int64_t n, double* shared) {
  double mine = 0;
  for (std::int64_t i = threadIdx.x; i < n; i += blockDim.x)
    mine += static_cast<double>(a[i]) * static_cast<double>(b[i]);
  __syncthreads();  // the last sum has been read, and columns been written
  const double sum = block_sum(mine, shared);
  return sum;
}

// Gram and Schmidt, twice. A column that is within the span of those before it becomes zero.
__global__ void __launch_bounds__(kColumnThreads) orthonormalise(float* p, Shape shape) {
  __shared__ double shared[32];
  for (std::int64_t c = 0; c < shape.rank; ++c) {
    float* column = p + c * shape.rows;
    const double before = sqrt(dot(column, column, shape.rows, shared));
    for (std::int64_t pair = 0; pair < 2 * c; ++pair) {
      const float* other = p + pair % c * shape.rows;
      const double along = dot(column, other, shape.rows, shared);
      for (std::int64_t i = threadIdx.x; i < shape.rows; i += blockDim.x)
        column[i] -= static_cast<float>(along * static_cast<double>(other[i]));
    }
    const double length = sqrt(dot(column, column, shape.rows, shared));
    const bool independent = length > 1e-6 * before || length != length;
    for (std::int64_t i = threadIdx.x; i < shape.rows; i += blockDim.x)
      column[i] = independent ? static_cast<float>(static_cast<double>(column[i]) * (1 / length)) : 0;
  }
}

// slabs[(slab × rank + c) × columns + j]
__global__ void multiply_transposed(const float* m, const float* p, Shape shape, float* slabs) {
  const std::int64_t in_row = (shape.columns + kThreads - 1) / kThreads;
  const std::int64_t slab = blockIdx.x / in_row, j = blockIdx.x % in_row * kThreads + threadIdx.x;
  if (j >= shape.columns) return;
  const std::int64_t end = least(shape.rows, (slab + 1) * kSlab);
  for (std::int64_t c = 0; c < shape.rank; c += kFactors) {
    float sums[kFactors] = {0, 0, 0, 0};
    for (std::int64_t row = slab * kSlab; row < end; ++row) {
      const float element = m[row * shape.columns + j];
      for (int k = 0; k < kFactors; ++k)
        if (c + k < shape.rank) sums[k] += p[(c + k) * shape.rows + row] * element;
    }
    for (int k = 0; k < kFactors; ++k)
      if (c + k < shape.rank) slabs[(slab * shape.rank + c + k) * shape.columns + j] = sums[k];
  }
}

__global__ void add_slabs(const float* slabs, std::int64_t count, Shape shape, float* q) {
  const std::int64_t i = thread_number(), each = shape.rank * shape.columns;
  if (i >= each) return;
  float sum = 0;
  for (std::int64_t slab = 0; slab < count; ++slab) sum += slabs[slab * each + i];
  q[i] = sum;
}

__global__ void look_for_not_finite(const float* x, std::int64_t n, Outcome* outcome) {
  const std::int64_t i = thread_number();
  if (i < n && (bits_of(x[i]) & kMagnitude) >= kInfinity) atomicOr(&outcome->not_finite, 1U);
}

// The next step begins with this step's factor, unless that is not finite.
__global__ void keep_start(const float* q, std::int64_t n, const Outcome* outcome, float* start) {
  const std::int64_t i = thread_number();
  if (i < n && outcome->not_finite == 0) start[i] = q[i];
}

__global__ void add_products(const PayloadView* views, int ranks, Shape shape, std::int64_t n, float* sum) {
  const std::int64_t i = thread_number(), inside = shape.rows * shape.columns;
  if (i >= n) return;
  const std::int64_t row = i < inside ? i / shape.columns : 0, j = i - row * shape.columns;
  float total = 0;
  for (int rank = 0; rank < ranks; ++rank) {
    const float *p = views[rank].values, *q = p + shape.rank * shape.rows, *rest = q + shape.rank * shape.columns;
    if (i >= inside)
      total += rest[i - inside];
    else
      for (std::int64_t c = 0; c < shape.rank; ++c) total += p[c * shape.rows + row] * q[c * shape.columns + j];
  }
  sum[i] = total;
}

class Powersgd final : public CudaLoad {
 public:
  using CudaLoad::CudaLoad;
  LoadTraits traits() const override { return {.kind = LoadKind::low_rank, .keeps_residual = asked_for_residual()}; }
  Traffic decompress_traffic(std::span<const Payload* const> payloads) const override {
    return {4 * static_cast<double>(factors() + rest()) * static_cast<double>(payloads.size()),
            4 * static_cast<double>(n_), 0};
  }

 private:
  std::int64_t factors() const { return shape_.rank * (shape_.rows + shape_.columns); }
  std::int64_t rest() const { return n_ - shape_.rows * shape_.columns; }
  std::int64_t slabs() const { return blocks_for(shape_.rows, kSlab); }
  Rooms rooms() const override { return {0, factors() + rest(), 0}; }

  void allocate() override {
    shape_.rows = static_cast<std::int64_t>(std::sqrt(static_cast<double>(n_)));
    shape_.columns = shape_.rows == 0 ? 0 : n_ / shape_.rows;
    shape_.rank = std::min<std::int64_t>(std::max(options_.rank, 1), shape_.rows);
    const std::int64_t size = shape_.rank * shape_.columns;
    std::vector<float> drawn(static_cast<std::size_t>(size + 3) / 4 * 4);
    for (std::size_t i = 0; i < drawn.size(); i += 4) {
      const auto four = normals(seed_, i / 4);
      std::copy(four.begin(), four.end(), drawn.data() + i);
    }
    start_.reserve(size);
    copy_in(start_, std::span<const float>(drawn).first(static_cast<std::size_t>(size)));
    slabs_.reserve(slabs() * size);
  }

  // values: P by columns, Q by columns, the rest.
  void encode(const float* x) override {
    if (n_ == 0) return;
    float* p = own_.values.data();
    float* q = p + shape_.rank * shape_.rows;
    const std::int64_t size = shape_.rank * shape_.columns;
    launch("multiply", multiply, blocks_for(shape_.rows, kThreads / 32), kThreads, x, start_.data(), shape_, p);
    launch("make orthonormal", orthonormalise, 1, kColumnThreads, p, shape_);
    launch("multiply the transposed", multiply_transposed, slabs() * blocks_for(shape_.columns, kThreads), kThreads, x,
           p, shape_, slabs_.data());
    launch("add slabs", add_slabs, blocks_for(size, kThreads), kThreads, slabs_.data(), slabs(), shape_, q);
    copy_within(own_.values.data() + factors(), x + shape_.rows * shape_.columns,
                static_cast<std::size_t>(rest()) * sizeof(float));
    launch("look at factors", look_for_not_finite, blocks_for(factors() + rest(), kThreads), kThreads, p,
           factors() + rest(), outcome_.data());
    launch("keep the factor", keep_start, blocks_for(size, kThreads), kThreads, q, size, outcome_.data(),
           start_.data());
  }
  void decode(std::span<const PayloadView> views, const PayloadView* device_views, float* sum) override {
    launch("add products", add_products, blocks_for(n_, kThreads), kThreads, device_views,
           static_cast<int>(views.size()), shape_, n_, sum);
  }
  Traffic encode_traffic() const override { return {8 * static_cast<double>(n_), 0, 0}; }

  Shape shape_{};
  DeviceBuffer<float> start_, slabs_;
};

}  // namespace

std::unique_ptr<Load> make_powersgd(const LoadOptions& options) { return std::make_unique<Powersgd>(options); }

}  // namespace gradsync::cuda
