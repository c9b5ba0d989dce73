// Selection by magnitude on the device. A cut, as on the CPU (loads/cpu/select.h), is found digit by digit and stays on
// the device, so that nothing waits for the host in between:
//
//   histogram of a digit ─▶ choose: which bin holds the K-th ─▶ next digit, of that bin alone … ─▶ take in order
//
// Candidates are entries that were taken before; kernels read how many there are from the device.
#pragma once

#include "loads/cuda/cuda_load.h"

namespace gradsync::cuda {

// Chosen: magnitude >= above, and the first `ties` of those equal to `tie`.
struct Cut {
  std::uint32_t above = 0, tie = 0;
  std::uint32_t prefix = 0;  // of the K-th magnitude, its bits from `known` upwards
  std::int32_t known = 31;
  std::int64_t ties = 0;
  std::int64_t count = 0;     // chosen in all
  std::int64_t surely = 0;    // above the bin of `prefix`
  std::uint32_t done = 0;     // no digit is needed any more
  std::uint32_t passes = 0;   // histograms made
  std::int64_t elements = 0;  // of the last histogram
  std::int64_t in_bins = 0;   // their sum
};

// Where entries come from: a whole vector, or candidates of it.
struct Entries {
  const float* values = nullptr;
  const std::uint32_t* indices = nullptr;  // null: their places are the indices
  const std::uint32_t* count = nullptr;    // on the device; null: `room` of them
  std::int64_t room = 0;
};
struct Taken {
  std::uint32_t* indices = nullptr;
  float* values = nullptr;
  std::int64_t room = 0;  // what comes later is counted, not written
  Outcome* outcome = nullptr;
};

class Selector {
 public:
  // For vectors of up to `elements`. May throw std::bad_alloc.
  void prepare(std::int64_t elements);
  void begin();  // a cut that knows nothing yet
  // Refines the cut by the bits down to `shift`, at most 12 of them; a cut of at most `most` needs no more digits.
  void digit(const Entries& x, std::int64_t wanted, std::int64_t most, int shift);
  // All remaining digits: exactly `wanted`, or up to `most` where a bin ends there.
  void digits(const Entries& x, std::int64_t wanted, std::int64_t most);
  // What the cut chooses, in the order of the indices.
  void take(const Entries& x, const Taken& to);
  // Bins of sampled magnitudes (bits 15 and up), and a cut of the whole bins that hold at least `wanted` of them.
  void cut_of_sample(const float* x, std::int64_t lines, std::int64_t stride, std::uint64_t seed, std::int64_t wanted);
  // Takes the magnitude as the cut.
  void cut_at(std::uint32_t magnitude);
  Cut cut() const { return copy_out(cut_); }  // waits for the device

 private:
  DeviceBuffer<Cut> cut_;
  DeviceBuffer<std::uint32_t> bins_;    // zeros between uses
  DeviceBuffer<std::uint64_t> counts_;  // of tiles, for take()
};

// The sum of lists of entries, rank after rank: every element is added up in the order of the ranks.
void scatter_add(std::span<const PayloadView> views, float* sum, std::int64_t n);
Traffic scatter_traffic(std::span<const Payload* const> payloads, std::int64_t elements);

// Sparse loads: what selections and the decoder of their payloads share.
class SparseLoad : public CudaLoad {
 public:
  using CudaLoad::CudaLoad;
  Traffic decompress_traffic(std::span<const Payload* const> payloads) const override;
  std::optional<HistogramCount> histogram() const override;

 protected:
  void allocate() override;
  Rooms rooms() const override { return {room_, room_, 0}; }
  void decode(std::span<const PayloadView> views, const PayloadView* device_views, float* sum) override;
  Traffic encode_traffic() const override { return traffic_; }

  virtual std::int64_t most_selected(std::int64_t wanted) const { return wanted; }
  virtual std::int64_t room_for(std::int64_t wanted) const { return most_selected(wanted); }
  virtual void allocate_selection() {}
  Entries all(const float* x) const { return {x, nullptr, nullptr, n_}; }
  Taken into_own() const { return {own_.indices.data(), own_.values.data(), room_, outcome_.data()}; }
  double pass() const { return 4 * static_cast<double>(n_); }

  Selector selector_;
  std::int64_t wanted_ = 0, most_ = 0, room_ = 0;
  Traffic traffic_;
};

}  // namespace gradsync::cuda
