#include "loads/error_feedback.h"

#include <new>
#include <utility>

#include "loads/parallel.h"

namespace gradsync {
namespace {

class ErrorFeedback final : public Load {
 public:
  ErrorFeedback(std::unique_ptr<Load> load, const LoadOptions& options) : load_(std::move(load)), options_(options) {}

  LoadTraits traits() const override {
    LoadTraits traits = load_->traits();
    traits.keeps_residual = true;
    return traits;
  }

  Result<void> prepare(std::int64_t elements, std::uint64_t seed) override {
    if (Result<void> prepared = load_->prepare(elements, seed); !prepared) return prepared;
    try {
      residual_.assign_zeros(elements);
      sum_.assign_zeros(elements);
      velocity_.assign_zeros(options_.momentum > 0 ? elements : 0);
      if (!is_selection()) decoded_.assign_zeros(elements);
    } catch (const std::bad_alloc&) {
      return Error{"cannot prepare a load of", std::to_string(elements) + " elements", "out of memory",
                   "choose a smaller --n", 3};
    }
    return {};
  }

  void reserve(Payload& payload) const override { load_->reserve(payload); }

  // A step that is not finite leaves the residual as it was: it was summed into another buffer.
  void compress(std::span<const float> gradient, Payload& payload) override {
    for_parts(residual_.size(), options_.threads, 1024,
              [&](const Part& part) { accumulate(gradient.data(), part.begin, part.end); });
    load_->compress(sum_.span(), payload);
    if (payload.not_finite) {
      velocity_.assign_zeros(velocity_.size());  // it may hold what is not finite
      return;
    }
    if (is_selection()) {
      for (const std::uint32_t index : payload.indices.span()) sum_[index] = 0;
      if (velocity_.size() > 0)
        for (const std::uint32_t index : payload.indices.span()) velocity_[index] = 0;
    } else {
      const Payload* one = &payload;
      load_->decompress({&one, 1}, decoded_.span());
      for_parts(residual_.size(), options_.threads, 1024, [&](const Part& part) {
        for (std::int64_t i = part.begin; i < part.end; ++i) sum_[i] -= decoded_[i];
      });
    }
    std::swap(residual_, sum_);
  }

  void decompress(std::span<const Payload* const> payloads, std::span<float> sum) override {
    load_->decompress(payloads, sum);
  }

  Traffic compress_traffic() const override {
    const double n = 4 * static_cast<double>(residual_.size());
    Traffic traffic = load_->compress_traffic();
    traffic.read += 2 * n + (velocity_.size() > 0 ? n : 0) + (is_selection() ? 0 : 2 * n);
    traffic.written += n + (velocity_.size() > 0 ? n : 0) + (is_selection() ? 0 : 2 * n);
    return traffic;
  }
  Traffic decompress_traffic(std::span<const Payload* const> payloads) const override {
    return load_->decompress_traffic(payloads);
  }
  std::span<const float> residual() const override { return residual_.span(); }
  std::optional<HistogramCount> histogram() const override { return load_->histogram(); }

 private:
  bool is_selection() const {
    const LoadKind kind = load_->traits().kind;
    return kind == LoadKind::exact_selection || kind == LoadKind::threshold_selection;
  }

  void accumulate(const float* gradient, std::int64_t begin, std::int64_t end) {
    const float* e = residual_.data();
    float* p = sum_.data();
    if (velocity_.size() == 0) {
      for (std::int64_t i = begin; i < end; ++i) p[i] = gradient[i] + e[i];
      return;
    }
    const auto momentum = static_cast<float>(options_.momentum);
    float* u = velocity_.data();
    for (std::int64_t i = begin; i < end; ++i) {
      u[i] = momentum * u[i] + gradient[i];
      p[i] = u[i] + e[i];
    }
  }

  std::unique_ptr<Load> load_;
  LoadOptions options_;
  Buffer<float> residual_, sum_, velocity_, decoded_;
};

}  // namespace

std::unique_ptr<Load> with_feedback(std::unique_ptr<Load> load, const LoadOptions& options) {
  if (options.feedback == Feedback::none || load->traits().keeps_residual) return load;
  return std::make_unique<ErrorFeedback>(std::move(load), options);
}

}  // namespace gradsync
