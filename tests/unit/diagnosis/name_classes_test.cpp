#include <regex>

#include "tests/unit/diagnosis/written.h"

namespace gradsync {
namespace {

std::string meaning(const std::vector<NameClass>& classes, const std::string& name, std::regex::flag_type flags) {
  for (const NameClass& entry : classes)
    if (std::regex_search(name, std::regex(entry.pattern, flags))) return entry.meaning;
  return "";
}

Inputs inputs() {
  auto rules = builtin_rules();
  REQUIRE_MESSAGE(rules, rules.error().message());
  Inputs filled;
  load_name_classes(*rules, filled);
  return filled;
}

struct Case {
  const char* name;
  const char* meaning;
};

}  // namespace

TEST_CASE("operators and kernels of profiles") {
  const Case cases[] = {
      {"aten::topk", "compress"},
      {"aten::sort", "compress"},
      {"aten::kthvalue", "compress"},
      {"aten::sign", "compress"},
      {"aten::nonzero", "compress"},
      {"aten::quantize_per_tensor", "compress"},
      {"void at::native::mbtopk::gatherTopK<float, unsigned int, 1>(at::cuda::detail::TensorInfo)", "compress"},
      {"void at::native::sbtopk::gatherTopK<float, unsigned int, 1, false>", "compress"},
      {"void at_cuda_detail::cub::DeviceRadixSortOnesweepKernel<Policy900, false>", "compress"},
      {"aten::scatter_", "decompress"},
      {"aten::scatter_add_", "decompress"},
      {"aten::index_put_", "decompress"},
      {"aten::_index_put_impl_", "decompress"},
      {"aten::dequantize", "decompress"},
      {"void dequantize_kernel<__half, 4>", "decompress"},
      {"void swizzled_quant_kernel<4, (quantize::Type)1>", "compress"},
      {"gloo:all_reduce", "comm"},
      {"nccl:all_gather", "comm"},
      {"c10d::allreduce_", "comm"},
      {"record_param_comms", "comm"},
      {"ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevComm*, unsigned long, ncclWork*)", "comm"},
      {"void ncclKernel_AllReduce_RING_LL_Sum_float(ncclWorkElem)", "comm"},
      {"ncclAllReduceRingLLKernel_sum_f32(ncclColl)", "comm"},
      {"ncclSymkDevKernel_AllReduce_RSxLD_AGxST", "comm"},
      {"ProfilerStep#12", "step"},
      {"enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__", "data"},
      {"Optimizer.step#SGD.step", "optimizer"},
      {"Optimizer.zero_grad#SGD.zero_grad", "optimizer"},
      {"DistributedDataParallel.forward", "forward"},
      {"autograd::engine::evaluate_function: AddmmBackward0", "backward"},
      {"AddmmBackward0", "backward"},
      {"torch::autograd::AccumulateGrad", "backward"},
      {"torch.distributed.ddp.reducer::copy_bucket_to_grad", "other"},
      {"aten::addmm", ""},
      {"aten::sorted_sequence_mask", ""},
      {"aten::sigmoid", ""},
      {"aten::fake_quantize_per_tensor_affine", ""},
      {"ampere_sgemm_128x64_tn", ""},
  };
  const Inputs filled = inputs();
  for (const Case& one : cases) {
    CAPTURE(one.name);
    CHECK(meaning(filled.operator_classes, one.name, std::regex::ECMAScript) == one.meaning);
  }
}

TEST_CASE("ranges of native jobs") {
  const Case cases[] = {
      {"step", "step"},
      {"step 12", "step"},
      {"iteration_3", "step"},
      {"train_step", "step"},
      {"optimizer.step", "optimizer"},
      {"sgd", "optimizer"},
      {"Adam", "optimizer"},
      {"forward", "forward"},
      {"backward", "backward"},
      {"bwd_layer3", "backward"},
      {"compress", "compress"},
      {"topk", "compress"},
      {"TopK select", "compress"},
      {"encode", "compress"},
      {"encoder", ""},
      {"decoder_block", ""},
      {"decompress", "decompress"},
      {"decode", "decompress"},
      {"scatter", "decompress"},
      {"all_gather", "comm"},
      {"all_reduce", "comm"},
      {"AllReduce", "comm"},
      {"reduce_scatter", "comm"},
      {"all_to_all", "comm"},
      {"ncclAllReduce", "comm"},
      {"data", "data"},
      {"load", "data"},
      {"DataLoader", "data"},
      {"upload", ""},
      {"checkpoint", ""},
  };
  const Inputs filled = inputs();
  for (const Case& one : cases) {
    CAPTURE(one.name);
    CHECK(meaning(filled.range_classes, one.name, std::regex::ECMAScript | std::regex::icase) == one.meaning);
  }
}

TEST_CASE("wrong patterns and meanings are load errors") {
  const auto error_of = [](const std::string& text) {
    const auto rules = make_rule_set({{{"kernels.toml", text}}});
    REQUIRE_FALSE(rules);
    return rules.error().why;
  };
  CHECK(error_of("range = [ { pattern = 'a', meaning = \"squeeze\" } ]") == "meaning: 'squeeze' is none of its words");
  CHECK(error_of("operator = [ { pattern = '(', meaning = \"comm\" } ]")
            .starts_with("pattern: '(' is not a regular expression"));
  CHECK(error_of("operator = [ { pattern = 'a' } ]") == "meaning: is missing");
  CHECK(error_of("kernel = []") == "kernel: unknown key");
}

}  // namespace gradsync
