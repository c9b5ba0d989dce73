#include <regex>

#include "tests/unit/diagnosis/written.h"

namespace gradsync {
namespace {

std::string meaning(const std::vector<NameClass>& classes, const std::string& name, std::regex::flag_type flags) {
  for (const NameClass& entry : classes)
    if (std::regex_search(name, std::regex(entry.pattern, flags))) return entry.meaning;
  return "";
}

NameClass row(const std::vector<NameClass>& classes, const std::string& name) {
  for (const NameClass& entry : classes)
    if (std::regex_search(name, std::regex(entry.pattern, std::regex::ECMAScript))) return entry;
  return {};
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
      {"ampere_sgemm_128x64_tn", "other"},
  };
  const Inputs filled = inputs();
  for (const Case& one : cases) {
    CAPTURE(one.name);
    CHECK(meaning(filled.operator_classes, one.name, std::regex::ECMAScript) == one.meaning);
  }
}

// One block for each implementation; kernels as several versions name them.
TEST_CASE("parts of compressed exchanges, as implementations and versions name them") {
  struct Part {
    const char* name;
    const char* kind;
    const char* evidence = "";
    const char* wire = "";
  };
  const Part parts[] = {
      // DDP's fp16 and bf16 hooks, built-in FP16_COMPRESS, FSDP's reduce_dtype, Horovod's Compression.fp16: casts.
      {"void at::native::unrolled_elementwise_kernel<at::native::copy_device_to_device(at::TensorIterator&, bool)::"
       "{lambda()#2}::operator()() const::{lambda()#13}::operator()() const::{lambda(c10::Half)#1}, at::detail::Array<"
       "char*, 2>, OffsetCalculator<1, unsigned int>, OffsetCalculator<1, unsigned int>, "
       "at::native::memory::LoadWithCast<1>, at::native::memory::StoreWithCast>(int)",
       "quantise", "pair", "float16"},
      {"void at::native::unrolled_elementwise_kernel<at::native::direct_copy_kernel_cuda(at::TensorIteratorBase&)::"
       "{lambda()#3}::operator()() const::{lambda()#12}::operator()() const::{lambda(c10::BFloat16)#1}, at::detail::"
       "Array<char*, 2>, TrivialOffsetCalculator<1, unsigned int>, char*, at::native::memory::LoadWithCast<1>, "
       "at::detail::Array<char*, 2>::StoreWithCast<1> >(int)",
       "quantise", "pair", "bfloat16"},
      {"void at::native::unrolled_elementwise_kernel<at::native::direct_copy_kernel_cuda(at::TensorIteratorBase&)::"
       "{lambda()#3}::operator()() const::{lambda()#7}::operator()() const::{lambda(float)#1}, std::array<char*, 2ul>, "
       "4, TrivialOffsetCalculator<1, unsigned int>, at::native::memory::LoadWithCast<1>, StoreWithCast<1> >(int)",
       "reconstruct", "pair"},
      {"void at::native::vectorized_elementwise_kernel<4, "
       "at::native::bfloat16_copy_kernel_cuda(at::TensorIteratorBase&)"
       "::{lambda(float)#1}, std::array<char*, 2ul> >(int)",
       "quantise", "pair", "bfloat16"},
      {"void at::native::vectorized_elementwise_kernel<4, at::native::float16_copy_kernel_cuda(at::TensorIteratorBase&)"
       "::{lambda(float)#1}, std::array<char*, 2ul> >(int)",
       "quantise", "pair", "float16"},
      {"void at::native::vectorized_elementwise_kernel<4, at::native::bfloat16tofloat32_copy_kernel_cuda(at::"
       "TensorIteratorBase&)::{lambda(c10::BFloat16)#1}, std::array<char*, 2ul> >(int)",
       "reconstruct", "pair"},
      {"void at::native::vectorized_elementwise_kernel<4, at::native::direct_copy_kernel_cuda(at::TensorIteratorBase&)"
       "::{lambda()#2}::operator()() const::{lambda()#7}::operator()() const::{lambda(float)#1} >(int)",
       ""},  // a copy without a cast
      {"void at::native::vectorized_elementwise_kernel<4, at::native::AUnaryFunctor<float, float, float, "
       "at::native::binary_internal::MulFunctor<float> >, at::detail::Array<char*, 2> >(int)",
       ""},
      {"void at::native::(anonymous namespace)::chunk_cat_cuda_kernel<float, c10::BFloat16>(float**)", ""},
      // PowerSGD
      {"aten::linalg_qr", "low-rank"},
      {"aten::bmm", "low-rank"},
      {"void geqr2_smem_domino_fast<float, float, 8, 8, 128>(int, int, float*)", "low-rank"},
      {"void orgqr_extract_r<float>(int)", "low-rank"},
      {"void gemv2T_kernel_val<int, int, float, float, float, float, 128, 16, 4, 4, false>(cublasGemvParams)",
       "low-rank"},
      {"volta_sgemm_32x32_sliced1x4_nn", "low-rank"},
      {"Cijk_Ailk_Bljk_SB_MT64x64x16_MI32x32x1", "low-rank"},
      {"void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, at::native::NormTwoOps<float, float, "
       "float>, "
       "unsigned int, float, 4> >(at::native::ReduceOp<float>)",
       "low-rank", "beside"},
      {"aten::frobenius_norm", "low-rank", "beside"},
      // DDP's quantisation hooks
      {"aten::aminmax", "quantise"},
      {"aten::quantize_per_channel", "quantise"},
      {"aten::round_", "quantise", "beside"},
      {"aten::clamp", "quantise", "beside"},
      {"aten::dequantize", "reconstruct"},
      {"void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, at::native::MinMaxOps<float, float, int> > "
       ">",
       "quantise"},
      {"void at::native::vectorized_elementwise_kernel<4, at::native::round_kernel_cuda(at::TensorIteratorBase&)::"
       "{lambda()#2}::operator()() const::{lambda()#2}::operator()() const::{lambda(float)#1} >(int)",
       "quantise", "beside"},
      // Top-K by hand
      {"aten::topk", "select"},
      {"aten::argsort", "select"},
      {"void (anonymous namespace)::gatherTopK<float, unsigned int, 1, false>(at::cuda::detail::TensorInfo<float>)",
       "select"},
      {"void at::native::sbtopk::gatherTopK<float, unsigned int, 1, false>(at::cuda::detail::TensorInfo<float>)",
       "select"},
      {"void at::native::mbtopk::radixFindKthValues<float, unsigned int, unsigned int, 1>(int)", "select"},
      {"void at::native::mbtopk::computeBlockwiseWithinKCounts<unsigned int>(unsigned int*, short*)", "select"},
      {"void at::native::mbtopk::computeBlockwiseKthCounts<unsigned int>(unsigned int*, short*)", "select"},
      {"void at::native::mbtopk::fill<unsigned int, unsigned int>(unsigned int*, unsigned int, unsigned int)",
       "select"},
      {"void at::native::bitonicSortKVInPlace<2, -1, 16, 16, float, long, at::native::GTOp<float, true>, unsigned int>",
       "select"},
      {"void at::native::radixSortKVInPlace<2, -1, 128, 32, float, long, unsigned int>(float*)", "select"},
      {"void at_cuda_detail::cub::DeviceRadixSortHistogramKernel<Policy900, true, float, int>(int*)", "select"},
      {"void cub::DeviceRadixSortUpsweepKernel<Policy700, false, false, float, long, int>(float const*)", "select"},
      {"void cub::CUB_200200_800_NS::DeviceSegmentedRadixSortKernel<Policy800, true, float, long, int>(float const*)",
       "select"},
      {"void rocprim::ROCPRIM_300200_NS::detail::onesweep_iteration<config, true, float*, long*>(float*)", "select"},
      {"aten::index", "compact", "beside"},
      {"aten::gather", "compact", "beside"},
      {"void at::native::index_elementwise_kernel<128, 4, at::native::gpu_index_kernel<at::native::index_kernel_impl<"
       "at::native::OpaqueType<4> >(at::TensorIteratorBase&)::{lambda(char*, char const*, long)#1}> >(long)",
       "compact", "beside"},
      {"void at::native::index_elementwise_kernel<128, 4, "
       "at::native::gpu_index_kernel<at::native::index_put_kernel_impl<"
       "at::native::OpaqueType<4> >(at::TensorIterator&)::{lambda(char*, char const*, long)#1}> >(long)",
       "reconstruct"},
      {"void at::native::vectorized_gather_kernel<16, long>(char*, char*, long*, int)", "compact", "beside"},
      {"void at::native::(anonymous namespace)::indexSelectLargeIndex<float, long, unsigned int, 1, 1, -2, true>(int)",
       "compact", "beside"},
      {"void at::native::indexFuncLargeIndex<float, long, unsigned int, 1, 1, -2, true>(int)", "reconstruct"},
      {"void at::native::_scatter_gather_elementwise_kernel<128, 8, at::native::_cuda_scatter_gather_internal_kernel<"
       "true, at::native::OpaqueType<4> >::operator()<at::native::TensorAssign>(at::TensorIterator&)>(int)",
       "reconstruct"},
      {"void at::native::_scatter_gather_elementwise_kernel<128, 8, at::native::_cuda_scatter_gather_internal_kernel<"
       "false, at::native::OpaqueType<4> >::operator()<at::native::TensorAssign>(at::TensorIterator&)>(int)",
       "compact", "beside"},
      {"aten::index_put_", "reconstruct"},
      // Threshold, DGC
      {"aten::nonzero", "compact"},
      {"aten::masked_select", "compact"},
      {"void cub::DeviceReduceSingleTileKernel<Policy600, cub::TransformInputIterator<bool, at::native::(anonymous "
       "namespace)::NonZeroOp<float>, float*, long>, int*, int, cub::Sum, int>(int)",
       "compact"},
      {"void cub::DeviceCompactInitKernel<cub::ScanTileState<int, true>, int*>(cub::ScanTileState<int, true>, int)",
       "compact"},
      {"void cub::DeviceSelectSweepKernel<Policy350, cub::CountingInputIterator<long>, bool*, long*>(int)", "compact"},
      {"void at::native::write_indices<long>(long*, at::native::TensorDims<long>, int, int)", "compact"},
      {"aten::ge", "quantise", "beside"},
      {"void at::native::(anonymous namespace)::indexing_backward_kernel_stride_1<float>(long const*, long const*)",
       "reconstruct"},
      {"void at::native::(anonymous namespace)::indexing_backward_kernel_small_stride<float>(long const*)",
       "reconstruct"},
      // Random-K
      {"aten::randperm", "select"},
      {"void at::native::(anonymous namespace)::distribution_elementwise_grid_stride_kernel<float, 4>(long)",
       "quantise", "beside"},
      // GRACE, signs
      {"aten::sign", "quantise"},
      {"aten::uniform_", "quantise", "beside"},
      {"void at::native::vectorized_elementwise_kernel<4, at::native::sign_kernel_cuda(at::TensorIteratorBase&)::"
       "{lambda()#2}::operator()() const::{lambda()#7}::operator()() const::{lambda(float)#1} >(int)",
       "quantise"},
      {"cupy_packbits", "quantise", "codec", "uint8"},
      {"cupy_unpackbits", "reconstruct", "codec"},
      // DeepSpeed: 1-bit optimisers, ZeRO++, LoCo
      {"packbits_kernel", "quantise", "codec", "uint8"},
      {"unpackbits_kernel", "reconstruct", "codec"},
      {"void swizzled_quant_kernel<4, (quantize::Type)1, 1, 2, 512, 8>(signed char*, float*, __half const*)",
       "quantise", "codec", "uint8"},
      {"void loco_swizzled_quant_kernel<4, (quantize::Type)1, 1, 2, 512>(signed char*)", "quantise", "codec", "uint8"},
      {"void dequant_reduce<4, 8, 2, 512, (quantize::Type)1>(signed char*, float*)", "reconstruct", "codec"},
      {"void loco_dequant_reduce<4, 8, 2, 512>(signed char*)", "reconstruct", "codec"},
      {"void cached_quantization<8, (quantize::Type)0, 4, 256, 1>(__half const*, signed char*, float*)", "quantise"},
      {"void dequantize_kernel<__half, 8, (quantize::Type)0, 2, 256>(__half*, signed char const*)", "reconstruct"},
      // BytePS and other packing on the host
      {"Memcpy DtoH (Device -> Pinned)", "host-pack", "beside"},
      {"CopyDeviceToHost", "host-pack", "beside"},
      {"Memcpy HtoD (Pinned -> Device)", ""},
      // Bagua
      {"void compress_float_to_uint8<float>(float*, int, unsigned char*)", "quantise", "codec", "uint8"},
      {"void decompress_uint8_to_float<float>(unsigned char*, int, float*)", "reconstruct", "codec"},
      // hivemind and bitsandbytes
      {"void kQuantizeBlockwise<float, 4096, 4, 0, 0>(float*, float*, float*, unsigned char*)", "quantise"},
      {"void kDequantizeBlockwise<float, 512, 64, 8, 0>(float*, unsigned char*, float*)", "reconstruct"},
      // DeMo
      {"aten::einsum", "low-rank"},
      // TorchRec and FBGEMM
      {"## encoder fp16 None ##", "quantise", "codec", "float16"},
      {"## encoder bf16 None ##", "quantise", "codec", "bfloat16"},
      {"## encoder int8 8.0 ##", "quantise", "codec", "uint8"},
      {"## decoder fp8 None ##", "reconstruct", "codec"},
      {"fbgemm::FloatToHFP8Quantized", "quantise", "codec", "uint8"},
      {"fbgemm::Fused8BitRowwiseQuantizedToFloat", "reconstruct", "codec"},
      {"void at::native::vectorized_elementwise_kernel<4, fbgemm_gpu::_float_to_hfp8_gpu(at::Tensor const&, long, "
       "long, "
       "double)::{lambda(float)#1}>(int)",
       "quantise", "codec", "uint8"},
      {"void at::native::vectorized_elementwise_kernel<4, fbgemm_gpu::_hfp8_to_float_gpu(at::Tensor const&, long, long)"
       "::{lambda(unsigned char)#1}>(int)",
       "reconstruct", "codec"},
      {"void fbgemm_gpu::(anonymous namespace)::_compute_FP8_quantize_cuda_kernel<float>(float const*)", "quantise",
       "codec", "uint8"},
      {"void fbgemm_gpu::(anonymous namespace)::_FP8rowwise_to_float_cuda_kernel<float>(unsigned char const*)",
       "reconstruct", "codec"},
      {"void fbgemm_gpu::_float_to_fused8bitrowwise_cuda_kernel<float>(float const*)", "quantise", "codec", "uint8"},
      {"void fbgemm_gpu::_fused8bitrowwise_to_float_cuda_kernel<float>(unsigned char const*)", "reconstruct", "codec"},
      // Megatron-LM and Transformer Engine
      {"void transformer_engine::(anonymous namespace)::cast_transpose_fused_kernel<false, float, __nv_fp8_e4m3>(int)",
       "quantise", "", "uint8"},
      {"void multi_tensor_apply_kernel<TensorListMetadata<2>, ScaleFunctor<float, float>, float>(long, int volatile*)",
       ""},
      // TensorFlow, JAX, Apex
      {"TopKV2", "select"},
      {"void tensorflow::impl::TopKKernel<float>(float const*, int, int, bool, float*, int*)", "select"},
      {"void tensorflow::ScatterNdOpKernel<float, int, (tensorflow::scatter_nd_op::UpdateOp)0, 1>(int)", "reconstruct"},
      {"all-reduce-start.3", ""},
      {"HorovodAllreduce", ""},
      {"MEMCPY_IN_FUSION_BUFFER", ""},
      {"void multi_tensor_apply_kernel<TensorListMetadata<4>, LAMBStage1Functor<float> >(long)", ""},
      // Error feedback
      {"aten::sub_", "error-feedback", "beside"},
      {"void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, at::detail::Array<char*, "
       "3> "
       ">(int)",
       "error-feedback", "beside"},
      // Models
      {"aten::sorted_sequence_mask", ""},
      {"aten::embedding", ""},
      {"void flash_fwd_kernel<Flash_fwd_kernel_traits<64, 128, 64, 4> >(Flash_fwd_params)", ""},
      {"void at::native::(anonymous namespace)::batch_norm_backward_elemt_kernel<float>(int)", ""},
  };
  const Inputs filled = inputs();
  for (const Part& part : parts) {
    CAPTURE(part.name);
    const NameClass found = row(filled.operator_classes, part.name);
    CHECK(found.kind == part.kind);
    CHECK(found.evidence == part.evidence);
    CHECK(found.wire == part.wire);
  }
}

TEST_CASE("what handling gradients is made of is known, and no part of an exchange") {
  const Inputs filled = inputs();
  for (const char* name :
       {"void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<float>, at::detail::Array<char*, 1> "
        ">",
        "void at::native::(anonymous namespace)::CatArrayBatchedCopy<float, unsigned int, 1, 128, 1>(float*)",
        "void at::native::(anonymous namespace)::chunk_cat_cuda_kernel<float, c10::BFloat16>(float**)",
        "void horovod::common::batched_scaled_memcpy_k<float>(horovod::common::BatchedScaledD2DParams, float)",
        "Memset (Device)", "Memcpy DtoD (Device -> Device)", "MEMCPY_IN_FUSION_BUFFER"}) {
    CAPTURE(name);
    const NameClass found = row(filled.operator_classes, name);
    CHECK(found.meaning == "other");
    CHECK(found.kind.empty());
  }
}

TEST_CASE("collectives of other frameworks") {
  const Inputs filled = inputs();
  for (const char* name : {"all-reduce-start.3", "HorovodAllreduce", "NCCL_ALLREDUCE", "push_pull", "byteps.push_pull",
                           "mscclKernel_Sum_float_LL", "ncclDevKernel_Generic_4(ncclDevKernelArgsStorage<4096ul>)"}) {
    CAPTURE(name);
    CHECK(row(filled.operator_classes, name).meaning == "comm");
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
  CHECK(error_of("operator = [ { pattern = 'a', meaning = \"comm\", kind = \"squeeze\" } ]") ==
        "kind: 'squeeze' is none of its words");
  CHECK(error_of("operator = [ { pattern = 'a', meaning = \"comm\", evidence = \"rumour\" } ]") ==
        "evidence: 'rumour' is none of its words");
  CHECK(error_of("kernel = []") == "kernel: unknown key");
}

}  // namespace gradsync
