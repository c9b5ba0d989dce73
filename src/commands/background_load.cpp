#include "src/commands/background_load.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <system_error>
#include <thread>
#include <vector>

#include "loads/philox.h"

namespace gradsync {
namespace {

constexpr std::int64_t kElements = std::int64_t{4} << 20;  // 16 MiB: more than a core's own caches
constexpr int kOrder = 192;                                // of the matrices

// c += a b, all of kOrder; the innermost loop runs along lines.
void multiply(const std::vector<float>& a, const std::vector<float>& b, std::vector<float>& c) {
  for (std::size_t i = 0; i < kOrder; ++i)
    for (std::size_t k = 0; k < kOrder; ++k) {
      const float weight = a[i * kOrder + k];
      for (std::size_t j = 0; j < kOrder; ++j) c[i * kOrder + j] += weight * b[k * kOrder + j];
    }
}

// What one thread works on: everything is there before it begins.
class Worker {
 public:
  Result<void> prepare(const LoadLibrary& library, std::uint64_t seed) {
    gradient_.resize(kElements);
    for (std::size_t i = 0; i < gradient_.size(); i += 4) {
      const auto drawn = normals(seed, i / 4);
      std::copy(drawn.begin(), drawn.end(), gradient_.begin() + static_cast<std::ptrdiff_t>(i));
    }
    sum_.resize(kElements);
    for (const LoadEntry& entry : library.loads()) {
      if (entry.algorithm == "topk_histogram") encoder_ = entry.make({});
      if (entry.algorithm == "scatter") decoder_ = entry.make({});
    }
    for (Load* load : {encoder_.get(), decoder_.get()})
      if (Result<void> prepared = load->prepare(kElements, seed); !prepared) return prepared;
    encoder_->reserve(payload_);
    for (std::vector<float>* matrix : {&a_, &b_, &c_}) matrix->assign(std::size_t{kOrder} * kOrder, 1e-3F);
    return {};
  }

  void round() {
    encoder_->compress(gradient_, payload_);
    const Payload* two[] = {&payload_, &payload_};
    decoder_->decompress(two, sum_);
    multiply(a_, b_, c_);
  }

 private:
  std::unique_ptr<Load> encoder_, decoder_;
  Payload payload_;
  std::vector<float> gradient_, sum_, a_, b_, c_;
};

class CompressorLoad final : public BackgroundLoad {
 public:
  CompressorLoad(const LoadLibrary& library, int threads) : library_(library), count_(std::max(threads, 1)) {}
  ~CompressorLoad() override { halt(); }
  std::string name() const override {
    return fmt::format("topk_histogram + scatter + matrix products on {} thread{}", count_, count_ == 1 ? "" : "s");
  }

  Result<void> start() override {
    halt();
    try {
      while (static_cast<int>(workers_.size()) < count_) {
        workers_.push_back(std::make_unique<Worker>());
        if (Result<void> prepared = workers_.back()->prepare(library_, workers_.size()); !prepared) {
          workers_.pop_back();
          return prepared;
        }
      }
      stop_ = false;
      for (const auto& worker : workers_)
        threads_.emplace_back([this, &worker] {
          while (!stop_.load(std::memory_order_relaxed)) {
            worker->round();
            ++rounds_;
          }
        });
    } catch (const std::bad_alloc&) {
      return refused("out of memory");
    } catch (const std::system_error& error) {
      return refused(error.what());
    }
    return {};
  }

  void stop() override { halt(); }
  std::int64_t rounds() const { return rounds_; }

 private:
  Result<void> refused(const std::string& why) {
    halt();
    return Error{"cannot start the background load", name(), why, "fewer threads"};
  }
  void halt() {
    stop_ = true;
    for (std::thread& thread : threads_) thread.join();
    threads_.clear();
  }

  const LoadLibrary& library_;
  int count_;
  std::vector<std::unique_ptr<Worker>> workers_;
  std::vector<std::thread> threads_;
  std::atomic<bool> stop_ = true;
  std::atomic<std::int64_t> rounds_ = 0;
};

}  // namespace

std::unique_ptr<BackgroundLoad> make_background_load(const LoadLibrary& library, int threads) {
  return std::make_unique<CompressorLoad>(library, threads);
}

std::int64_t rounds_of(const BackgroundLoad& load) {
  const auto* own = dynamic_cast<const CompressorLoad*>(&load);
  return own == nullptr ? 0 : own->rounds();
}

}  // namespace gradsync
