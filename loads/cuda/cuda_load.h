// What the CUDA loads share: vectors come from the host and go back to it, kernels run on the device's copies, and the
// device's own clock runs only while kernels do (seconds()).
//
//   gradient ─▶ device │ start ─ feedback ─ encode ─ stop │ outcome ─▶ encode_again, when the first guess was wrong
//                      │                                  │ payload ─▶ host
//
// Selections and casts get error feedback here, on the device; error_feedback.h says what it is.
#pragma once

#include <vector>

#include "loads/cuda/device.h"
#include "loads/load.h"

namespace gradsync::cuda {

// Of one rank, on the device.
struct DevicePayload {
  DeviceBuffer<std::uint32_t> indices;
  DeviceBuffer<float> values;
  DeviceBuffer<std::uint8_t> codes;
};
// The same as kernels see it.
struct PayloadView {
  const std::uint32_t* indices = nullptr;
  const float* values = nullptr;
  const std::uint8_t* codes = nullptr;
  std::int64_t count = 0;  // of indices
  std::uint64_t step = 0;
};

// Room that a payload takes, in numbers.
struct Rooms {
  std::int64_t indices = 0, values = 0, codes = 0;
};

// What kernels tell about the payload that they made.
struct Outcome {
  std::uint32_t count = 0;       // of selections: how many were chosen, also when there was no room for them
  std::uint32_t not_finite = 0;  // 1: something is not
};

class CudaLoad : public Load {
 public:
  explicit CudaLoad(const LoadOptions& options) : options_(options) {}

  Result<void> prepare(std::int64_t elements, std::uint64_t seed) final;
  void reserve(Payload& payload) const final;
  void compress(std::span<const float> gradient, Payload& payload) final;
  void decompress(std::span<const Payload* const> payloads, std::span<float> sum) final;
  Traffic compress_traffic() const final;
  std::span<const float> residual() const final;
  std::optional<double> seconds() const final { return seconds_; }

 protected:
  // Every buffer that the load needs; state begins anew. May throw std::bad_alloc.
  virtual void allocate() = 0;
  virtual Rooms rooms() const = 0;
  // Kernels from `x` to own_ and outcome_, which is zeros before. Nothing waits for the device.
  virtual void encode(const float* x) = 0;
  // Whether that was it; else encode_again() is sure to be.
  virtual bool accepts(const Outcome&) { return true; }
  virtual void encode_again(const float*) {}
  // The sum of what `views` (the host's and the device's copy) stand for.
  virtual void decode(std::span<const PayloadView> views, const PayloadView* device_views, float* sum) = 0;
  // Of the last encode(), without error feedback.
  virtual Traffic encode_traffic() const = 0;
  // Loads that are error feedback themselves return theirs.
  virtual const float* own_residual() const { return nullptr; }
  bool asked_for_residual() const { return options_.feedback == Feedback::residual; }

  LoadOptions options_;
  std::int64_t n_ = 0;
  std::uint64_t seed_ = 0, step_ = 0;
  DevicePayload own_;
  DeviceBuffer<Outcome> outcome_;
  bool refused_ = false;  // while decoding: one of the payloads is not finite

 private:
  bool keeps_feedback() const;
  bool is_selection() const;
  void prepare_feedback();
  const float* accumulate();
  void settle(const Outcome& outcome);
  Outcome encode_and_wait(const float* x);
  PayloadView own_view(const Outcome& outcome) const;
  void take_out(const Outcome& outcome, Payload& payload) const;

  DeviceBuffer<float> gradient_, sum_, residual_, velocity_, accumulated_;
  std::vector<DevicePayload> received_;
  DeviceBuffer<PayloadView> views_;
  std::optional<Stopwatch> stopwatch_;
  std::optional<double> seconds_;
  mutable std::vector<float> residual_copy_;
  mutable bool residual_copied_ = false;
};

// One for each algorithm, in the file of its name.
std::unique_ptr<Load> make_topk_histogram(const LoadOptions& options);
std::unique_ptr<Load> make_topk_select(const LoadOptions& options);
std::unique_ptr<Load> make_topk_sort(const LoadOptions& options);
std::unique_ptr<Load> make_dgc(const LoadOptions& options);
std::unique_ptr<Load> make_onebit_ef(const LoadOptions& options);
std::unique_ptr<Load> make_cast16(const LoadOptions& options);
std::unique_ptr<Load> make_cast8(const LoadOptions& options);
std::unique_ptr<Load> make_qsgd(const LoadOptions& options);
std::unique_ptr<Load> make_randomk(const LoadOptions& options);
std::unique_ptr<Load> make_powersgd(const LoadOptions& options);
std::unique_ptr<Load> make_scatter(const LoadOptions& options);
std::unique_ptr<Load> make_param_server(const LoadOptions& options);

}  // namespace gradsync::cuda
