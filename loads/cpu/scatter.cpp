// scatter: the decoder of sparse payloads, N lists of indices and values added into one vector.
#include <algorithm>
#include <cstring>

#include "loads/cpu/sparse_load.h"
#include "loads/parallel.h"

namespace gradsync {
namespace {

constexpr std::int64_t kBlock = 1 << 16;  // floats that stay in a second-level cache while all ranks are added

class Scatter final : public CpuLoad {
 public:
  explicit Scatter(const LoadOptions& options) : CpuLoad(options), encoder_(make_topk_histogram(options)) {}
  LoadTraits traits() const override {
    LoadTraits traits = encoder_->traits();
    traits.kind = LoadKind::decoder;
    return traits;
  }
  void reserve(Payload& payload) const override { encoder_->reserve(payload); }
  void compress(std::span<const float> gradient, Payload& payload) override { encoder_->compress(gradient, payload); }
  void decompress(std::span<const Payload* const> payloads, std::span<float> sum) override {
    scatter_add(payloads, sum, options_.threads);
  }
  Traffic compress_traffic() const override { return encoder_->compress_traffic(); }
  Traffic decompress_traffic(std::span<const Payload* const> payloads) const override {
    return scatter_traffic(payloads, n_);
  }

 private:
  void allocate() override {
    if (const Result<void> prepared = encoder_->prepare(n_, seed_); !prepared) throw std::bad_alloc();
  }
  std::unique_ptr<Load> encoder_;
};

}  // namespace

void scatter_add(std::span<const Payload* const> payloads, std::span<float> sum, int threads) {
  for_parts(static_cast<std::int64_t>(sum.size()), threads, kBlock, [&](const Part& part) {
    std::vector<std::int64_t> next(payloads.size());
    for (std::size_t rank = 0; rank < payloads.size(); ++rank) {
      const auto indices = payloads[rank]->indices.span();
      next[rank] = std::lower_bound(indices.begin(), indices.end(), part.begin) - indices.begin();
    }
    for (std::int64_t begin = part.begin; begin < part.end; begin += kBlock) {
      const std::int64_t end = std::min(begin + kBlock, part.end);
      std::memset(sum.data() + begin, 0, static_cast<std::size_t>(end - begin) * sizeof(float));
      for (std::size_t rank = 0; rank < payloads.size(); ++rank) {
        const std::uint32_t* indices = payloads[rank]->indices.data();
        const float* values = payloads[rank]->values.data();
        std::int64_t i = next[rank];
        for (const std::int64_t count = payloads[rank]->indices.size(); i < count && indices[i] < end; ++i)
          sum[indices[i]] += values[i];
        next[rank] = i;
      }
    }
  });
}

Traffic scatter_traffic(std::span<const Payload* const> payloads, std::int64_t elements) {
  Traffic traffic{0, 4.0 * static_cast<double>(elements)};
  for (const Payload* payload : payloads) traffic.read += 8.0 * static_cast<double>(payload->indices.size());
  return traffic;
}

std::unique_ptr<Load> make_scatter(const LoadOptions& options) { return std::make_unique<Scatter>(options); }

}  // namespace gradsync
