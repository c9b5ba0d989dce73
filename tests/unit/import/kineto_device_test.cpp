// What becomes of which event: device side and its runtime calls.
#include <doctest/doctest.h>

#include "collectors/import/kineto.h"
#include "tests/unit/import/trace_files.h"

namespace gradsync {
namespace {

using Lines = std::vector<std::string>;

struct Imported {
  ImportStats stats;
  test::KeptEvents sink;
};

Imported import(const std::string& events, const std::string& tail = "") {
  const test::TraceFile file(test::object_trace(events, tail));
  Imported got;
  ImportOptions options;
  options.process = ProcessInfo{"trace", 1};
  const Result<ImportStats> stats = import_kineto(file.path(), options, got.sink);
  REQUIRE(stats);
  got.stats = *stats;
  return got;
}

// One complete event of pid 0, at 1 µs for 2 µs.
std::string device_event(const std::string& category, const std::string& name, const std::string& args) {
  return R"({"ph": "X", "cat": ")" + category + R"(", "name": ")" + name +
         R"(", "pid": 0, "tid": 7, "ts": 1, "dur": 2, "args": {)" + args + "}}";
}

std::string only_line(const std::string& event) {
  const Imported got = import(event);
  REQUIRE(got.sink.events.size() == 1);
  return got.sink.line(got.sink.events.front());
}

}  // namespace

TEST_CASE("kernels, copies and memsets on streams, calls on threads") {
  const Imported got = import(
      R"json({"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 77, "tid": 78, "ts": 1, "dur": 2, "args": {"cbid": 211, "correlation": 41}},
{"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": 4, "dur": 5, "args": {"device": 0, "stream": 7, "correlation": 41, "grid": [8, 1, 1]}},
{"ph": "X", "cat": "gpu_memcpy", "name": "Memcpy DtoH (Device -> Pageable)", "pid": 0, "tid": 7, "ts": 10, "dur": 1, "args": {"stream": 20, "correlation": 42, "bytes": 4096}},
{"ph": "X", "cat": "gpu_memset", "name": "Memset (Device)", "pid": 0, "tid": 7, "ts": 12, "dur": 1, "args": {"stream": 7, "correlation": 43, "bytes": 64}},
{"ph": "X", "cat": "cuda_runtime", "name": "cudaStreamSynchronize", "pid": 77, "tid": 78, "ts": 14, "dur": 9, "args": {"correlation": 44}},
{"ph": "X", "cat": "cuda_runtime", "name": "hipEventSynchronize", "pid": 77, "tid": 78, "ts": 24, "dur": 1},
{"ph": "X", "cat": "cuda_driver", "name": "cuCtxSynchronize", "pid": 77, "tid": 78, "ts": 26, "dur": 1},
{"ph": "X", "cat": "cuda_runtime", "name": "cudaStreamWaitEvent", "pid": 77, "tid": 78, "ts": 28, "dur": 1},
{"ph": "X", "cat": "cuda_sync", "name": "Stream Sync", "pid": 0, "tid": 7, "ts": 14, "dur": 9, "args": {"stream": 7}},
{"ph": "X", "cat": "gpu_user_annotation", "name": "ProfilerStep#3", "pid": 0, "tid": 7, "ts": 4, "dur": 9, "args": {}})json",
      R"(, "deviceProperties": [{"id": 0, "name": "NVIDIA A100"}, {"id": 1, "name": "other"}], "cuda_runtime_version": 12080,
         "distributedInfo": {"backend": "nccl", "rank": 1, "world_size": 2, "nccl_version": "2.17.1"})");
  CHECK(got.sink.lines() == Lines{
                                "host_call cudaLaunchKernel 1000..3000 lane=0 correlation=41",
                                "kernel gemm 4000..9000 lane=s7 correlation=41",
                                "copy Memcpy DtoH (Device -> Pageable) 10000..11000 lane=s20 correlation=42 bytes=4096",
                                "memset Memset (Device) 12000..13000 lane=s7 correlation=43 bytes=64",
                                "host_sync cudaStreamSynchronize 14000..23000 lane=0 correlation=44",
                                "host_sync hipEventSynchronize 24000..25000 lane=0",
                                "host_sync cuCtxSynchronize 26000..27000 lane=0",
                                "host_call cudaStreamWaitEvent 28000..29000 lane=0",
                                "range ProfilerStep#3 4000..13000 lane=s7",  // not a second step
                            });
  CHECK(got.stats.device_syncs == 1);
  CHECK(got.stats.devices == 1);
  CHECK(got.sink.facts == std::map<std::string, std::string>{{"backend", "nccl"},
                                                             {"cuda", "12.8"},
                                                             {"device", "cuda"},
                                                             {"gpu", "NVIDIA A100"},
                                                             {"nccl", "2.17.1"},
                                                             {"rank", "1"},
                                                             {"world_size", "2"}});
}

TEST_CASE("NCCL kernels are collectives; their arguments tell bytes, group and order") {
  const std::string ring = "ncclDevKernel_Generic(ncclDevKernelArgsStorage<4096ul>)";
  const std::string group =
      R"("stream": 40, "correlation": 9, "dtype": "BFloat16", "Process Group Name": "0", "Group size": 8)";
  CHECK(only_line(device_event(
            "kernel", ring,
            R"("Collective name": "allreduce", "In msg nelems": 1000, "Out msg nelems": 1000, "Seq": 5, )" + group)) ==
        "collective all_reduce 1000..3000 lane=s40 correlation=9 bytes=2000 group=0 seq=5 dtype=bfloat16 elements=1000 "
        "group_size=8 kernel=" +
            ring);
  CHECK(only_line(device_event(
            "kernel", ring,
            R"("Collective name": "_reduce_scatter_base", "In msg nelems": 8000, "Out msg nelems": 1000, )" + group)) ==
        "collective reduce_scatter 1000..3000 lane=s40 correlation=9 bytes=2000 group=0 dtype=bfloat16 elements=1000 "
        "group_size=8 kernel=" +
            ring);
  CHECK(only_line(device_event(
            "kernel", ring,
            R"("Collective name": "_allgather_base", "In msg nelems": 1000, "Out msg nelems": 8000, )" + group)) ==
        "collective all_gather 1000..3000 lane=s40 correlation=9 bytes=2000 group=0 dtype=bfloat16 elements=1000 "
        "group_size=8 kernel=" +
            ring);
}

TEST_CASE("without arguments the kernel's name has to do") {
  CHECK(only_line(device_event("kernel", "ncclKernel_AllReduce_RING_LL_Sum_float(ncclWorkElem)", R"("stream": 14)")) ==
        "collective all_reduce 1000..3000 lane=s14 kernel=ncclKernel_AllReduce_RING_LL_Sum_float(ncclWorkElem) op=sum");
  CHECK(only_line(device_event("Kernel", "ncclDevKernel_Generic(x)", "")) ==
        "collective collective 1000..3000 lane=s7 kernel=ncclDevKernel_Generic(x)");
  const Imported got = import(device_event("kernel", "my_all_reduce", R"("Collective name": "allreduce")"));
  CHECK(got.sink.line(got.sink.events.front()) == "collective all_reduce 1000..3000 lane=s7 kernel=my_all_reduce");
  CHECK(got.stats.nccl_kernels == 0);
}

TEST_CASE("NCCL on a CPU thread is the launch") {
  const Imported got = import(
      R"({"ph": "X", "cat": "user_annotation", "name": "nccl:all_reduce", "pid": 77, "tid": 78, "ts": 1, "dur": 2, "args": {}},
{"ph": "X", "cat": "cpu_op", "name": "record_param_comms", "pid": 77, "tid": 78, "ts": 1, "dur": 2, "args": {"Collective name": "allreduce"}},
{"ph": "X", "cat": "gpu_user_annotation", "name": "nccl:all_reduce", "pid": 0, "tid": 40, "ts": 3, "dur": 2, "args": {}})");
  CHECK(got.stats.count(Kind::range) == 3);
  CHECK(got.stats.count(Kind::collective) == 0);
}

TEST_CASE("the autograd profiler places device work at its operator") {
  const Imported got =
      import(R"({"ph": "X", "name": "gemm", "pid": "CUDA functions", "tid": 0, "ts": 1, "dur": 2, "args": {}})");
  CHECK(got.sink.lines() == Lines{"kernel gemm 1000..3000 lane=s0 flags=2"});
}

TEST_CASE("numbers that make no sense do no harm") {
  const std::string line = only_line(device_event(
      "kernel", "ncclDevKernel_AllReduce_Sum_f32_RING_LL",
      R"("Collective name": "allreduce", "In msg nelems": 9223372036854775807, "dtype": "Float", "Seq": -3, "stream": 99999999999999,
         "correlation": -1, "Group size": 184467440737095516150)"));
  CHECK(line ==
        "collective all_reduce 1000..3000 lane=s524288 dtype=float32 elements=9223372036854775807 "
        "kernel=ncclDevKernel_AllReduce_Sum_f32_RING_LL op=sum");
  CHECK(only_line(device_event("gpu_memcpy", "Memcpy", R"("bytes": -5, "stream": "x")")) ==
        "copy Memcpy 1000..3000 lane=s7");
}

TEST_CASE("a kernel that casts keeps the size of its launch; others and wrong sizes do not") {
  const std::string name =
      "void at::native::unrolled_elementwise_kernel<direct_copy_kernel_cuda, LoadWithCast<1> >(int)";
  const auto line = [&](const std::string& args) { return only_line(device_event("kernel", name, args)); };
  CHECK(line(R"("stream": 7, "grid": [524288, 1, 1], "block": [128, 1, 1])") ==
        "kernel " + name + " 1000..3000 lane=s7 threads=67108864");
  const std::string without = "kernel " + name + " 1000..3000 lane=s7";
  CHECK(line(R"("stream": 7, "grid": [8, 1, 1])") == without);
  CHECK(line(R"("stream": 7, "grid": "8", "block": {})") == without);
  CHECK(line(R"("stream": 7, "grid": [], "block": [])") == without);
  CHECK(line(R"("stream": 7, "grid": [-8, 1, 1], "block": [128, 1, 1])") == without);
  CHECK(line(R"("stream": 7, "grid": [9223372036854775807, 1, 1], "block": [1024, 1, 1])") == without);
  CHECK(only_line(device_event("kernel", "gemm", R"("stream": 7, "grid": [8, 1, 1], "block": [128, 1, 1])")) ==
        "kernel gemm 1000..3000 lane=s7");
}

}  // namespace gradsync
