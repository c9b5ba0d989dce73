// powersgd: the gradient as a matrix M (a × b, nearly square), sent as two thin factors (Vogels, Karimireddy, Jaggi,
// NeurIPS'19): one step of power iteration that begins with the factor of the step before.
//
//   P = M Q          all ranks add their P here    │ this rank alone: nothing is added
//   P orthonormal    (Gram and Schmidt, twice)
//   Q = Mᵀ P         all ranks add their Q here    │
//   decodes to P Qᵀ; what the matrix does not hold (n − a b elements) travels as it is
//
// R 2 × 4n, 4 r n operations; on the wire 4 r (a + b) and the rest.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "loads/cpu/cpu_load.h"
#include "loads/cpu/kernels.h"
#include "loads/cpu/select.h"
#include "loads/parallel.h"
#include "loads/philox.h"

namespace gradsync {
namespace {

class Powersgd final : public CpuLoad {
 public:
  using CpuLoad::CpuLoad;
  LoadTraits traits() const override { return {.kind = LoadKind::low_rank}; }
  void reserve(Payload& payload) const override { payload.reserve(0, factors() + rest(), 0); }

  // values: P by columns, Q by columns, the rest.
  void compress(std::span<const float> gradient, Payload& payload) override {
    payload.elements = n_;
    payload.step = step_++;
    payload.indices.resize(0);
    payload.codes.resize(0);
    payload.values.resize(factors() + rest());
    float* p = payload.values.data();
    float* q = p + rank_ * rows_;
    multiply(gradient.data(), p);
    orthonormalise(p);
    multiply_transposed(gradient.data(), p, q);
    std::copy_n(gradient.data() + rows_ * columns_, rest(), payload.values.data() + factors());
    payload.not_finite = !all_finite(payload.values.span());
    if (!payload.not_finite) std::copy_n(q, rank_ * columns_, start_.data());
  }

  void decompress(std::span<const Payload* const> payloads, std::span<float> sum) override {
    for_parts(rows_, options_.threads, 1, [&](const Part& part) {
      for (std::int64_t row = part.begin; row < part.end; ++row) {
        float* line = sum.data() + row * columns_;
        std::memset(line, 0, static_cast<std::size_t>(columns_) * sizeof(float));
        for (const Payload* payload : payloads)
          kernels::add_row(payload->values.data() + row, rows_, payload->values.data() + rank_ * rows_, columns_, rank_,
                           line);
      }
    });
    for (std::int64_t i = 0; i < rest(); ++i) {
      float& element = sum[static_cast<std::size_t>(rows_ * columns_ + i)];
      element = 0;
      for (const Payload* payload : payloads) element += payload->values[factors() + i];
    }
  }

  Traffic compress_traffic() const override { return {8 * static_cast<double>(n_), 0}; }
  Traffic decompress_traffic(std::span<const Payload* const> payloads) const override {
    return {4 * static_cast<double>(factors() + rest()) * static_cast<double>(payloads.size()),
            4 * static_cast<double>(n_)};
  }

 private:
  std::int64_t factors() const { return rank_ * (rows_ + columns_); }
  std::int64_t rest() const { return n_ - rows_ * columns_; }

  void allocate() override {
    rows_ = static_cast<std::int64_t>(std::sqrt(static_cast<double>(n_)));
    columns_ = rows_ == 0 ? 0 : n_ / rows_;
    rank_ = std::min<std::int64_t>(std::max(options_.rank, 1), rows_);
    start_.reserve(rank_ * columns_ + 4);
    start_.resize(rank_ * columns_);
    for (std::int64_t i = 0; i < start_.size(); i += 4) {
      const auto drawn = normals(seed_, static_cast<std::uint64_t>(i / 4));
      std::copy(drawn.begin(), drawn.end(), start_.data() + i);
    }
  }

  void multiply(const float* m, float* p) {
    for_parts(rows_, options_.threads, 1, [&](const Part& part) {
      for (std::int64_t row = part.begin; row < part.end; ++row)
        kernels::multiply_row(m + row * columns_, start_.data(), columns_, rank_, p + row, rows_);
    });
  }

  // Each thread adds up rows of its own, then the sums are added in their order.
  void multiply_transposed(const float* m, const float* p, float* q) {
    const std::vector<Part> parts = parts_of(rows_, options_.threads, 1);
    std::vector<std::vector<float>> sums(parts.size());
    std::fill_n(q, rank_ * columns_, 0.0F);
    for_parts(parts, [&](const Part& part) {
      std::vector<float>& sum = sums[static_cast<std::size_t>(part.number)];
      sum.assign(static_cast<std::size_t>(rank_ * columns_), 0.0F);
      for (std::int64_t row = part.begin; row < part.end; ++row)
        kernels::add_to_columns(m + row * columns_, p + row, rows_, columns_, rank_, sum.data());
    });
    for (const std::vector<float>& sum : sums) kernels::add(q, sum.data(), q, rank_ * columns_);
  }

  // A column that is within the span of those before it becomes zero: the matrix has a lower rank than asked for.
  void orthonormalise(float* p) const {
    const auto dot = [this](const float* a, const float* b) {
      double sum = 0;
      for (std::int64_t i = 0; i < rows_; ++i) sum += static_cast<double>(a[i]) * static_cast<double>(b[i]);
      return sum;
    };
    for (std::int64_t c = 0; c < rank_; ++c) {
      float* column = p + c * rows_;
      const double before = std::sqrt(dot(column, column));
      for (int again = 0; again < 2; ++again)
        for (std::int64_t other = 0; other < c; ++other) {
          const double along = dot(column, p + other * rows_);
          for (std::int64_t i = 0; i < rows_; ++i)
            column[i] -= static_cast<float>(along * static_cast<double>(p[other * rows_ + i]));
        }
      const double length = std::sqrt(dot(column, column));
      const double inverse = length > 1e-6 * before || std::isnan(length) ? 1 / length : 0;
      for (std::int64_t i = 0; i < rows_; ++i)
        column[i] = inverse == 0 ? 0 : static_cast<float>(static_cast<double>(column[i]) * inverse);
    }
  }

  std::int64_t rows_ = 0, columns_ = 0, rank_ = 0;
  Buffer<float> start_;
};

}  // namespace

std::unique_ptr<Load> make_powersgd(const LoadOptions& options) { return std::make_unique<Powersgd>(options); }

}  // namespace gradsync
