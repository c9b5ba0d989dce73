#include "loads/cuda/cuda_library.h"

#include <exception>

#include "loads/cuda/cuda_load.h"

namespace gradsync::cuda {
namespace {

class CudaLoadLibrary final : public LoadLibrary {
 public:
  std::string device() const override { return "cuda"; }
  std::string instruction_set() const override {
    const Result<std::string> found = find_device();
    return found ? *found : std::string();
  }
  Result<void> ready() const override {
    const Result<std::string> found = find_device();
    return found ? Result<void>() : Result<void>(found.error());
  }
  std::int64_t cache_bytes() const override { return cuda::cache_bytes(); }

  const std::vector<LoadEntry>& loads() const override {
    static const std::vector<LoadEntry> loads = {
        {"topk_histogram", "Top-K by a sampled histogram, K to 1.25 K", make_topk_histogram},
        {"topk_select", "exact Top-K by radix select", make_topk_select},
        {"topk_sort", "exact Top-K by sorting everything (CUB)", make_topk_sort},
        {"dgc", "Top-K by a sampled threshold, 0.7 K to 1.3 K", make_dgc},
        {"onebit_ef", "one bit an element, with error feedback", make_onebit_ef},
        {"cast16", "fp16", make_cast16},
        {"cast8", "fp8 e4m3 in blocks of 128", make_cast8},
        {"qsgd", "8-bit stochastic rounding in blocks of 512", make_qsgd},
        {"randomk", "random K of a shared seed", make_randomk},
        {"powersgd", "low rank", make_powersgd},
        {"scatter", "decoder of Top-K: N lists added into zeros", make_scatter},
        {"param_server", "server of N pushed gradients", make_param_server},
    };
    return loads;
  }

  // A device that fails in the middle fails the check; nothing of it is told by what was checked before.
  std::vector<Check> verify(const MakeLoad& make, const LoadOptions& options) const override {
    try {
      return gradsync::verify(make, options);
    } catch (const std::exception& failure) {
      return {{"V3", "the device runs the kernels", false, failure.what()}};
    }
  }

  std::unique_ptr<BandwidthProbe> bandwidth(std::int64_t elements, int) const override {
    return cuda_bandwidth(elements);
  }
};

}  // namespace

const LoadLibrary& cuda_load_library() {
  static const CudaLoadLibrary library;
  return library;
}

}  // namespace gradsync::cuda
