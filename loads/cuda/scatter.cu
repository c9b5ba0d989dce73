// scatter: the decoder of sparse payloads, N lists of indices and values added into one vector. The payloads are those of
// topk_histogram.
#include "loads/cuda/cuda_load.h"
#include "loads/cuda/selection.h"

namespace gradsync::cuda {
namespace {

class Scatter final : public Load {
 public:
  explicit Scatter(const LoadOptions& options) : encoder_(make_topk_histogram(options)) {}
  LoadTraits traits() const override {
    LoadTraits traits = encoder_->traits();
    traits.kind = LoadKind::decoder;
    traits.keeps_residual = false;
    return traits;
  }
  Result<void> prepare(std::int64_t elements, std::uint64_t seed) override { return encoder_->prepare(elements, seed); }
  void reserve(Payload& payload) const override { encoder_->reserve(payload); }
  void compress(std::span<const float> gradient, Payload& payload) override { encoder_->compress(gradient, payload); }
  void decompress(std::span<const Payload* const> payloads, std::span<float> sum) override {
    encoder_->decompress(payloads, sum);
  }
  Traffic compress_traffic() const override { return encoder_->compress_traffic(); }
  Traffic decompress_traffic(std::span<const Payload* const> payloads) const override {
    return encoder_->decompress_traffic(payloads);
  }
  std::optional<double> seconds() const override { return encoder_->seconds(); }

 private:
  std::unique_ptr<Load> encoder_;
};

}  // namespace

std::unique_ptr<Load> make_scatter(const LoadOptions& options) {
  LoadOptions without = options;
  without.feedback = Feedback::none;
  return std::make_unique<Scatter>(without);
}

}  // namespace gradsync::cuda
