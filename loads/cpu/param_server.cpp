// param_server: a parameter server in this process, N workers that push dense gradients and pull what the server made of
// them (momentum 0.9 is its optimiser).
//
//   worker 0 ── push ─▶ mailbox 0 ┐          a shard at a time, in the order of the ranks:
//   worker 1 ── push ─▶ mailbox 1 ┼─▶ server   then_apply   sum of all, then velocity and update once
//   worker N ── push ─▶ mailbox N ┘            apply_each   velocity and update for every push
//
// With one thread the same thread pushes a shard and then serves it. With more, one serves and the others push; nobody
// waits for a lock, a flag for each shard and worker says that it is there. The result is the same, bit for bit.
#include <algorithm>
#include <atomic>
#include <cstring>
#include <limits>
#include <system_error>
#include <thread>

#include "loads/cpu/cpu_load.h"
#include "loads/cpu/select.h"

namespace gradsync {
namespace {

constexpr std::int64_t kShard = 1 << 16;
constexpr float kMomentum = 0.9F;

class ParamServer final : public CpuLoad {
 public:
  using CpuLoad::CpuLoad;
  LoadTraits traits() const override { return {.kind = LoadKind::server}; }
  void reserve(Payload& payload) const override { payload.reserve(0, n_, 0); }

  // What a worker sends is its gradient.
  void compress(std::span<const float> gradient, Payload& payload) override {
    payload.elements = n_;
    payload.step = step_++;
    payload.indices.resize(0);
    payload.codes.resize(0);
    payload.values.resize(n_);
    std::copy(gradient.begin(), gradient.end(), payload.values.data());
    payload.not_finite = !all_finite(payload.values.span());
  }

  // Pushes of all workers, what the server does with them, and one pull of its parameters, which begin as zeros: after
  // the first step they are the sum of the gradients.
  // A push that is not finite is refused as a whole step, so that the server's state stays sound: the pull is NaN.
  void decompress(std::span<const Payload* const> payloads, std::span<float> parameters) override {
    const bool refused = std::any_of(payloads.begin(), payloads.end(), [](const Payload* p) { return p->not_finite; });
    if (refused) {
      std::fill(parameters.begin(), parameters.end(), std::numeric_limits<float>::quiet_NaN());
      return;
    }
    const std::size_t workers = payloads.size();
    if (mailboxes_.size() < workers) mailboxes_.resize(workers);
    for (Buffer<float>& mailbox : mailboxes_) mailbox.reserve(n_);
    there_ = std::vector<std::atomic<bool>>(workers * static_cast<std::size_t>(shards()));
    const int pushers = std::min<int>(options_.threads - 1, static_cast<int>(workers));
    std::vector<std::thread> threads;
    for (int i = 0; i < pushers; ++i) {
      const auto push_some = [this, payloads, i, pushers] { push_all(payloads, i, pushers); };
      try {
        threads.emplace_back(push_some);
      } catch (const std::system_error&) {  // no more threads here
        push_some();
      }
    }
    for (std::int64_t shard = 0; shard < shards(); ++shard) {
      for (std::size_t worker = 0; pushers == 0 && worker < workers; ++worker) push(*payloads[worker], worker, shard);
      serve(shard, workers);
      pull(shard, parameters);
    }
    for (std::thread& thread : threads) thread.join();
  }

  Traffic compress_traffic() const override { return {4 * static_cast<double>(n_), 4 * static_cast<double>(n_)}; }
  // A shard's mailboxes, velocity and parameters are touched again before they leave the cache.
  Traffic decompress_traffic(std::span<const Payload* const> payloads) const override {
    const double n = 4 * static_cast<double>(n_), workers = static_cast<double>(payloads.size());
    return {n * workers, n * workers + n, 2 * n};
  }

 private:
  std::int64_t shards() const { return (n_ + kShard - 1) / kShard; }
  std::int64_t begin_of(std::int64_t shard) const { return shard * kShard; }
  std::int64_t size_of(std::int64_t shard) const { return std::min(kShard, n_ - begin_of(shard)); }
  std::atomic<bool>& flag(std::size_t worker, std::int64_t shard) {
    return there_[worker * static_cast<std::size_t>(shards()) + static_cast<std::size_t>(shard)];
  }

  void allocate() override {
    velocity_.assign_zeros(n_);
    parameters_.assign_zeros(n_);
    mailboxes_.clear();
  }

  void push(const Payload& payload, std::size_t worker, std::int64_t shard) {
    std::memcpy(mailboxes_[worker].data() + begin_of(shard), payload.values.data() + begin_of(shard),
                static_cast<std::size_t>(size_of(shard)) * sizeof(float));
    flag(worker, shard).store(true, std::memory_order_release);
    flag(worker, shard).notify_one();
  }

  // Those of every `pushers`-th worker, shard after shard.
  void push_all(std::span<const Payload* const> payloads, int first, int pushers) {
    for (std::int64_t shard = 0; shard < shards(); ++shard)
      for (auto worker = static_cast<std::size_t>(first); worker < payloads.size();
           worker += static_cast<std::size_t>(pushers))
        push(*payloads[worker], worker, shard);
  }

  void serve(std::int64_t shard, std::size_t workers) {
    const std::int64_t begin = begin_of(shard), count = size_of(shard);
    for (std::size_t worker = 0; worker < workers; ++worker) {
      flag(worker, shard).wait(false, std::memory_order_acquire);
      const float* pushed = mailboxes_[worker].data() + begin;
      if (options_.merge == Merge::apply_each)
        apply(pushed, begin, count);
      else if (worker > 0)
        kernels::add(mailboxes_[0].data() + begin, pushed, mailboxes_[0].data() + begin, count);
    }
    if (options_.merge == Merge::then_apply && workers > 0) apply(mailboxes_[0].data() + begin, begin, count);
  }

  void apply(const float* gradient, std::int64_t begin, std::int64_t count) {
    kernels::apply_momentum(gradient, kMomentum, velocity_.data() + begin, parameters_.data() + begin, count);
  }

  void pull(std::int64_t shard, std::span<float> parameters) const {
    std::memcpy(parameters.data() + begin_of(shard), parameters_.data() + begin_of(shard),
                static_cast<std::size_t>(size_of(shard)) * sizeof(float));
  }

  Buffer<float> velocity_, parameters_;
  std::vector<Buffer<float>> mailboxes_;
  std::vector<std::atomic<bool>> there_;
};

}  // namespace

std::unique_ptr<Load> make_param_server(const LoadOptions& options) { return std::make_unique<ParamServer>(options); }

}  // namespace gradsync
