#include "loads/cuda/cuda_load.h"

#include <limits>
#include <new>

#include "loads/cuda/device_code.h"

namespace gradsync::cuda {
namespace {

constexpr unsigned kThreads = 256;
constexpr std::int64_t kMostElements = 2147483647;  // two counts and a flag fit into 64 bits (selection.cu)

// accumulated = gradient + residual; with momentum velocity = momentum × velocity + gradient stands for the gradient.
__global__ void add_residual(const float* gradient, const float* residual, float momentum, float* velocity,
                             float* accumulated, std::int64_t n) {
  const std::int64_t i = thread_number();
  if (i >= n) return;
  float g = gradient[i];
  if (velocity != nullptr) {
    g = momentum * velocity[i] + g;
    velocity[i] = g;
  }
  accumulated[i] = g + residual[i];
}

__global__ void clear_sent(const std::uint32_t* indices, std::int64_t count, float* accumulated, float* velocity) {
  const std::int64_t i = thread_number();
  if (i >= count) return;
  accumulated[indices[i]] = 0;
  if (velocity != nullptr) velocity[indices[i]] = 0;
}

__global__ void subtract(float* from, const float* what, std::int64_t n) {
  const std::int64_t i = thread_number();
  if (i < n) from[i] -= what[i];
}

}  // namespace

bool CudaLoad::is_selection() const {
  const LoadKind kind = traits().kind;
  return kind == LoadKind::exact_selection || kind == LoadKind::threshold_selection;
}

bool CudaLoad::keeps_feedback() const {
  const LoadKind kind = traits().kind;
  return asked_for_residual() && (is_selection() || kind == LoadKind::cast || kind == LoadKind::low_rank);
}

Result<void> CudaLoad::prepare(std::int64_t elements, std::uint64_t seed) {
  if (elements < 0 || elements > kMostElements)
    return Error{"cannot prepare a load of", std::to_string(elements) + " elements", "too many for the kernels",
                 "at most 2147483647", 2};
  n_ = elements;
  seed_ = seed;
  step_ = 0;
  seconds_.reset();
  residual_copied_ = false;
  try {
    if (!stopwatch_) stopwatch_.emplace();
    gradient_.reserve(n_);
    sum_.reserve(n_);
    outcome_.assign_zeros(1);
    allocate();
    const Rooms room = rooms();
    own_.indices.reserve(room.indices);
    own_.values.reserve(room.values);
    own_.codes.reserve(room.codes);
    if (keeps_feedback()) prepare_feedback();
  } catch (const std::bad_alloc&) {
    return Error{"cannot prepare a load of", std::to_string(elements) + " elements", "out of memory on the device",
                 "choose a smaller --n", 3};
  } catch (const DeviceFailure& failure) {
    return Error{"cannot prepare a load on", "the device", failure.what(), "see what nvidia-smi says", 3};
  }
  return {};
}

void CudaLoad::prepare_feedback() {
  residual_.assign_zeros(n_);
  accumulated_.reserve(n_);
  if (options_.momentum > 0) velocity_.assign_zeros(n_);
}

void CudaLoad::reserve(Payload& payload) const {
  const Rooms room = rooms();
  payload.reserve(room.indices, room.values, room.codes);
}

const float* CudaLoad::accumulate() {
  launch("add the residual", add_residual, blocks_for(n_, kThreads), kThreads, gradient_.data(), residual_.data(),
         static_cast<float>(options_.momentum), options_.momentum > 0 ? velocity_.data() : nullptr, accumulated_.data(),
         n_);
  return accumulated_.data();
}

Outcome CudaLoad::encode_and_wait(const float* x) {
  encode(x);
  stopwatch_->stop();
  Outcome outcome = copy_out(outcome_);
  if (accepts(outcome)) return outcome;
  fill_zeros(outcome_.data(), sizeof(Outcome));
  encode_again(x);
  stopwatch_->stop();
  return copy_out(outcome_);
}

PayloadView CudaLoad::own_view(const Outcome& outcome) const {
  return {own_.indices.data(), own_.values.data(), own_.codes.data(), outcome.count, step_};
}

// What was not sent stays. A step that is not finite leaves the residual as it was; what was accumulated is given up.
void CudaLoad::settle(const Outcome& outcome) {
  const bool momentum = options_.momentum > 0;
  if (outcome.not_finite != 0) {
    if (momentum) fill_zeros(velocity_.data(), static_cast<std::size_t>(n_) * sizeof(float));
    return;
  }
  if (is_selection()) {
    launch("clear what was sent", clear_sent, blocks_for(outcome.count, kThreads), kThreads, own_.indices.data(),
           std::int64_t{outcome.count}, accumulated_.data(), momentum ? velocity_.data() : nullptr);
  } else {
    const PayloadView view = own_view(outcome);
    views_.reserve(1);
    copy_in(views_, std::span(&view, 1));
    decode({&view, 1}, views_.data(), sum_.data());
    launch("subtract what was sent", subtract, blocks_for(n_, kThreads), kThreads, accumulated_.data(), sum_.data(),
           n_);
  }
  std::swap(residual_, accumulated_);
}

// The clock ends with the kernels. With error feedback it also runs while the host looks at the outcome: what is done
// with the residual depends on it.
void CudaLoad::compress(std::span<const float> gradient, Payload& payload) {
  copy_in(gradient_, gradient);
  stopwatch_->start();
  fill_zeros(outcome_.data(), sizeof(Outcome));
  const Outcome outcome = encode_and_wait(keeps_feedback() ? accumulate() : gradient_.data());
  if (keeps_feedback()) {
    settle(outcome);
    stopwatch_->stop();
  }
  seconds_ = stopwatch_->seconds();
  residual_copied_ = false;
  take_out(outcome, payload);
  payload.step = step_++;
}

void CudaLoad::take_out(const Outcome& outcome, Payload& payload) const {
  const Rooms room = rooms();
  const std::int64_t count = room.indices > 0 ? outcome.count : room.values;
  payload.elements = n_;
  payload.not_finite = outcome.not_finite != 0;
  payload.indices.resize(room.indices > 0 ? count : 0);
  payload.values.resize(count);
  payload.codes.resize(room.codes);
  copy_out(payload.indices.data(), own_.indices.data(), payload.indices.span().size_bytes());
  copy_out(payload.values.data(), own_.values.data(), payload.values.span().size_bytes());
  copy_out(payload.codes.data(), own_.codes.data(), payload.codes.span().size_bytes());
}

void CudaLoad::decompress(std::span<const Payload* const> payloads, std::span<float> sum) {
  if (received_.size() < payloads.size()) received_.resize(payloads.size());
  std::vector<PayloadView> views;
  refused_ = false;
  for (std::size_t rank = 0; rank < payloads.size(); ++rank) {
    const Payload& payload = *payloads[rank];
    DevicePayload& here = received_[rank];
    here.indices.reserve(payload.indices.size());
    here.values.reserve(payload.values.size());
    here.codes.reserve(payload.codes.size());
    copy_in(here.indices, payload.indices.span());
    copy_in(here.values, payload.values.span());
    copy_in(here.codes, payload.codes.span());
    views.push_back({here.indices.data(), here.values.data(), here.codes.data(), payload.indices.size(), payload.step});
    refused_ = refused_ || payload.not_finite;
  }
  views_.reserve(static_cast<std::int64_t>(views.size()));
  copy_in(views_, std::span<const PayloadView>(views));
  stopwatch_->start();
  decode(views, views_.data(), sum_.data());
  stopwatch_->stop();
  seconds_ = stopwatch_->seconds();
  copy_out(sum.data(), sum_.data(), sum.size_bytes());
}

Traffic CudaLoad::compress_traffic() const {
  Traffic traffic = encode_traffic();
  if (!keeps_feedback()) return traffic;
  const double n = 4 * static_cast<double>(n_), momentum = options_.momentum > 0 ? n : 0;
  traffic.read += 2 * n;
  traffic.written += n;
  traffic.updated += momentum;
  if (!is_selection()) {  // decode, then subtract in place
    traffic.read += n;
    traffic.written += n;
    traffic.updated += n;
  }
  return traffic;
}

std::span<const float> CudaLoad::residual() const {
  const float* kept = keeps_feedback() ? residual_.data() : own_residual();
  if (kept == nullptr) return {};
  if (!residual_copied_) {
    residual_copy_.resize(static_cast<std::size_t>(n_));
    copy_out(residual_copy_.data(), kept, residual_copy_.size() * sizeof(float));
    residual_copied_ = true;
  }
  return residual_copy_;
}

}  // namespace gradsync::cuda
