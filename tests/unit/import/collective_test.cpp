#include "collectors/import/collective.h"

#include <doctest/doctest.h>

#include <string>

namespace gradsync {

TEST_CASE("NCCL's kernels by version") {
  struct Case {
    const char* name;
    bool nccl;
    std::string_view operation, reduction;
  };
  const Case cases[] = {
      {"ncclAllReduceRingLLKernel_sum_f32(ncclColl)", true, "all_reduce", "sum"},
      {"ncclBroadcastRingLLKernel_copy_i8(ncclColl)", true, "broadcast", ""},
      {"ncclKernel_AllReduce_RING_LL_Sum_float(ncclWorkElem)", true, "all_reduce", "sum"},
      {"ncclKernel_Broadcast_RING_LL_Sum_int8_t(ncclDevComm*, unsigned long, ncclWork*)", true, "broadcast", ""},
      {"ncclKernel_ReduceScatter_RING_LL_Max_float(ncclWork)", true, "reduce_scatter", "max"},
      {"ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_t(ncclWorkElem)", true, "send_recv", ""},
      {"ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevComm*)", true, "all_reduce", "sum"},
      {"ncclDevKernel_AllGather_RING_LL(ncclDevComm*)", true, "all_gather", ""},
      {"ncclDevKernel_Generic(ncclDevKernelArgsStorage<4096ul>)", true, "collective", ""},
      {"ncclDevKernel_Generic_4", true, "collective", ""},
      {"ncclSymDevKernel_AllReduce_AGxLL_R_sum_f32", true, "all_reduce", "sum"},
      {"ncclSymkDevKernel_ReduceScatter_LL_sum_bf16", true, "reduce_scatter", "sum"},
      {"void ncclKernel_AllReduce_RING_LL_Prod_half(ncclWork)", true, "all_reduce", "prod"},
      {"void ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)", true, "all_reduce", "sum"},
      {"hipblasLtTransform_kernel", false, "", ""},
      {"void oneRankReduce<FuncPreMulSum<float>>(void*)", true, "reduce", ""},
      {"void at::native::vectorized_elementwise_kernel<4>()", false, "", ""},
      {"my_ncclKernel_AllReduce", false, "", ""},
      {"nccl", false, "", ""},
      {"", false, "", ""},
  };
  for (const Case& c : cases) {
    CAPTURE(c.name);
    CHECK(is_nccl_kernel(c.name) == c.nccl);
    if (!c.nccl) continue;
    CHECK(parse_nccl_kernel(c.name).operation == c.operation);
    CHECK(parse_nccl_kernel(c.name).reduction == c.reduction);
  }
}

TEST_CASE("a name of a megabyte is only long") {
  CHECK_FALSE(is_nccl_kernel("nccl" + std::string(1 << 20, 'a')));
  CHECK(canonical_collective(std::string(1 << 20, 'a')).empty());
}

TEST_CASE("PyTorch's words for collectives") {
  const std::pair<const char*, const char*> cases[] = {
      {"allreduce", "all_reduce"},
      {"allreduce_coalesced", "all_reduce"},
      {"_allgather_base", "all_gather"},
      {"allgather_into_tensor_coalesced", "all_gather"},
      {"_reduce_scatter_base", "reduce_scatter"},
      {"all_to_allv", "all_to_all"},
      {"broadcast_oop", "broadcast"},
      {"reduce", "reduce"},
      {"nccl:all_reduce", "all_reduce"},
      {"pointToPoint", "send_recv"},
      {"barrier", "barrier"},
      {"recv", "recv"},
      {"wait", ""},
      {"", ""},
  };
  for (const auto& [word, expected] : cases) {
    CAPTURE(word);
    CHECK(canonical_collective(word) == expected);
  }
}

TEST_CASE("only some backends' annotations span the collective") {
  CHECK(collective_of_annotation("gloo:all_reduce") == "all_reduce");
  CHECK(collective_of_annotation("gloo:sparse_all_reduce") == "all_reduce");
  CHECK(collective_of_annotation("gloo:something_new") == "collective");
  CHECK(collective_of_annotation("nccl:all_reduce").empty());  // the launch; the kernel is the collective
  CHECK(collective_of_annotation("c10d::allreduce_").empty());
  CHECK(collective_of_annotation("aten::add").empty());
}

TEST_CASE("element types by all their names") {
  CHECK(tensor_type("Float").name == "float32");
  CHECK(tensor_type("float").bytes == 4);
  CHECK(tensor_type("c10::BFloat16").name == "bfloat16");
  CHECK(tensor_type("BFloat16").bytes == 2);
  CHECK(tensor_type("long int").name == "int64");
  CHECK(tensor_type("Half").bytes == 2);
  CHECK(tensor_type("Float8_e4m3fn").bytes == 1);
  CHECK(tensor_type("Posit16").name == "Posit16");
  CHECK(tensor_type("Posit16").bytes == 0);
  CHECK(tensor_type("").name.empty());
}

}  // namespace gradsync
