// Loads whose payload is a list of indices and values: they share the decoder.
//
//   payload of rank 0   (3 0.5) (9 -2.0) …          sum, a block at a time: zeros, then what each rank has in it.
//   payload of rank 1   (2 1.5) (3 0.1) …           The block stays in the cache, so main memory sees each line once.
#pragma once

#include "loads/cpu/cpu_load.h"
#include "loads/cpu/select.h"

namespace gradsync {

void scatter_add(std::span<const Payload* const> payloads, std::span<float> sum, int threads);
Traffic scatter_traffic(std::span<const Payload* const> payloads, std::int64_t elements);

class SparseLoad : public CpuLoad {
 public:
  using CpuLoad::CpuLoad;

  void reserve(Payload& payload) const override { payload.reserve(most_ + kSelectSlack, most_ + kSelectSlack, 0); }
  void compress(std::span<const float> gradient, Payload& payload) final {
    payload.elements = n_;
    payload.step = step_++;
    payload.not_finite = false;
    payload.codes.resize(0);
    select(gradient, payload);
  }
  void decompress(std::span<const Payload* const> payloads, std::span<float> sum) override {
    scatter_add(payloads, sum, options_.threads);
  }
  Traffic compress_traffic() const override { return traffic_; }
  Traffic decompress_traffic(std::span<const Payload* const> payloads) const override {
    return scatter_traffic(payloads, n_);
  }

 protected:
  void allocate() override {
    wanted_ = selected_count(options_.ratio, n_);
    most_ = most_selected(wanted_);
    allocate_selection();
  }
  virtual std::int64_t most_selected(std::int64_t wanted) const { return wanted; }
  virtual void allocate_selection() {}
  // Fills indices, values and not_finite, and says in traffic_ what it moved.
  virtual void select(std::span<const float> gradient, Payload& payload) = 0;

  std::int64_t wanted_ = 0, most_ = 0;
  Traffic traffic_;
};

}  // namespace gradsync
