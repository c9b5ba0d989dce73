// param_server: a parameter server on the device; workers push dense gradients into mailboxes and pull what the server
// made of them (momentum 0.9 is its optimiser). The sums are those of the CPU's load (loads/cpu/param_server.cpp):
//
//   worker 0 ── push ─▶ mailbox 0 ┐          an element a thread, in the order of the ranks:
//   worker N ── push ─▶ mailbox N ┴─▶ server   then_apply   sum of all, then velocity and update once
//                                              apply_each   velocity and update for every push
#include <vector>

#include "loads/cuda/cuda_load.h"
#include "loads/cuda/device_code.h"

namespace gradsync::cuda {
namespace {

constexpr unsigned kThreads = 256;
constexpr float kMomentum = 0.9F;

__global__ void look_for_not_finite(const float* x, std::int64_t n, float* values, Outcome* outcome) {
  const std::int64_t i = thread_number();
  if (i >= n) return;
  values[i] = x[i];
  if ((bits_of(x[i]) & kMagnitude) >= kInfinity) atomicOr(&outcome->not_finite, 1U);
}

template <Merge kMerge>
__global__ void serve(const float* const* mailboxes, int workers, std::int64_t n, float* velocity, float* parameters,
                      float* pulled) {
  const std::int64_t i = thread_number();
  if (i >= n) return;
  float v = velocity[i], p = parameters[i], sum = 0;
  for (int worker = 0; worker < workers; ++worker) {
    const float pushed = mailboxes[worker][i];
    if (kMerge == Merge::apply_each) {
      v = kMomentum * v + pushed;
      p += v;
    } else {
      sum = worker == 0 ? pushed : sum + pushed;
    }
  }
  if (kMerge == Merge::then_apply && workers > 0) {
    v = kMomentum * v + sum;
    p += v;
  }
  velocity[i] = v;
  parameters[i] = p;
  pulled[i] = p;
}

__global__ void fill_nan(float* x, std::int64_t n) {
  const std::int64_t i = thread_number();
  if (i < n) x[i] = float_of(kNan);
}

class ParamServer final : public CudaLoad {
 public:
  using CudaLoad::CudaLoad;
  LoadTraits traits() const override { return {.kind = LoadKind::server}; }
  // Pushes, then the server reads its mailboxes.
  Traffic decompress_traffic(std::span<const Payload* const> payloads) const override {
    const double n = 4 * static_cast<double>(n_), workers = static_cast<double>(payloads.size());
    return {2 * n * workers, n * workers + n, 2 * n};
  }

 private:
  void allocate() override {
    velocity_.assign_zeros(n_);
    parameters_.assign_zeros(n_);
  }
  Rooms rooms() const override { return {0, n_, 0}; }

  void encode(const float* x) override {
    launch("push", look_for_not_finite, blocks_for(n_, kThreads), kThreads, x, n_, own_.values.data(), outcome_.data());
  }

  // A push that is not finite is refused as a whole step: the pull is NaN, the server's state stays as it was.
  void decode(std::span<const PayloadView> views, const PayloadView*, float* sum) override {
    if (refused_) {
      launch("refuse", fill_nan, blocks_for(n_, kThreads), kThreads, sum, n_);
      return;
    }
    make_mailboxes(views.size());
    for (std::size_t worker = 0; worker < views.size(); ++worker)
      copy_within(mailboxes_[worker].data(), views[worker].values, static_cast<std::size_t>(n_) * sizeof(float));
    launch("serve", options_.merge == Merge::apply_each ? serve<Merge::apply_each> : serve<Merge::then_apply>,
           blocks_for(n_, kThreads), kThreads, places_.data(), static_cast<int>(views.size()), n_, velocity_.data(),
           parameters_.data(), sum);
  }

  Traffic encode_traffic() const override { return {4 * static_cast<double>(n_), 4 * static_cast<double>(n_), 0}; }

  // Once for a number of workers: in the first call, which nobody times.
  void make_mailboxes(std::size_t workers) {
    if (mailboxes_.size() == workers && made_for_ == n_) return;
    mailboxes_.resize(workers);
    std::vector<const float*> places;
    for (DeviceBuffer<float>& mailbox : mailboxes_) {
      mailbox.reserve(n_);
      places.push_back(mailbox.data());
    }
    places_.reserve(static_cast<std::int64_t>(workers));
    copy_in(places_.data(), places.data(), places.size() * sizeof(const float*));
    made_for_ = n_;
  }

  DeviceBuffer<float> velocity_, parameters_;
  std::vector<DeviceBuffer<float>> mailboxes_;
  DeviceBuffer<const float*> places_;
  std::int64_t made_for_ = -1;
};

}  // namespace

std::unique_ptr<Load> make_param_server(const LoadOptions& options) { return std::make_unique<ParamServer>(options); }

}  // namespace gradsync::cuda
