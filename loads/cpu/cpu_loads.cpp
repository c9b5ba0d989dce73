// The list of CPU loads. Unbiased ones and decoders need no error feedback.
#include "loads/cpu/cpu_load.h"
#include "loads/cpu/kernels.h"
#include "loads/error_feedback.h"
#include "loads/library.h"

namespace gradsync {
namespace {

template <std::unique_ptr<Load> (*kMake)(const LoadOptions&)>
std::unique_ptr<Load> biased(const LoadOptions& options) {
  return with_feedback(kMake(options), options);
}

}  // namespace

const std::vector<LoadEntry>& cpu_loads() {
  static const std::vector<LoadEntry> loads = {
      {"topk_histogram", "Top-K by a sampled histogram, K to 1.25 K", biased<make_topk_histogram>},
      {"topk_select", "exact Top-K by radix select", biased<make_topk_select>},
      {"topk_sort", "exact Top-K by sorting everything", biased<make_topk_sort>},
      {"dgc", "Top-K by a sampled threshold, 0.7 K to 1.3 K", biased<make_dgc>},
      {"onebit_ef", "one bit an element, with error feedback", make_onebit_ef},
      {"cast16", "fp16", biased<make_cast16>},
      {"cast8", "fp8 e4m3 in blocks of 128", biased<make_cast8>},
      {"qsgd", "8-bit stochastic rounding in blocks of 512", make_qsgd},
      {"randomk", "random K of a shared seed", make_randomk},
      {"powersgd", "low rank", biased<make_powersgd>},
      {"scatter", "decoder of Top-K: N lists added into zeros", make_scatter},
      {"param_server", "server of N pushed gradients", make_param_server},
  };
  return loads;
}

}  // namespace gradsync
