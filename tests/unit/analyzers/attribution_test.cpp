#include <doctest/doctest.h>

#include "tests/unit/analyzers/run_analyzers.h"

using namespace gradsync;
using test::analyze;
using test::repeat_step;

namespace {

double part(const Conclusions& conclusions, const std::string& scope, const std::string& name) {
  for (const Attribution& attribution : conclusions.attribution)
    if (attribution.scope == scope) {
      const auto found = attribution.parts_ms.find(name);
      return found == attribution.parts_ms.end() ? -1 : found->second;
    }
  return -2;
}

double sum_of_parts(const Conclusions& conclusions, const std::string& scope) {
  double sum = 0;
  for (const Attribution& attribution : conclusions.attribution)
    if (attribution.scope == scope)
      for (const auto& [name, ms] : attribution.parts_ms) sum += ms;
  return sum;
}

std::string rank_head(int rank, const std::string& facts = "") {
  const std::string number = std::to_string(rank);
  return "process host=n pid=" + std::to_string(100 + rank) + " clean=1\nfact rank=" + number +
         " world_size=2 device=cpu framework=ddp ddp.gradient_bytes=4000000 " + facts + "\n";
}

//   0      10000        30000      60000 compute_end        75000 end   90000       100000
//   idle   forward      backward   rank 1: 70000: it is late            optimizer
std::string plain_ddp(int rank, int compute_end) {
  return rank_head(rank, "hook.kind=none") + repeat_step(20, 100000,
                                                         "range forward @10000..@25000\n"
                                                         "range backward @30000..@75000 compute_end_us=@" +
                                                             std::to_string(compute_end) +
                                                             "\n"
                                                             "range optimizer @90000..@100000");
}

}  // namespace

TEST_CASE("plain DDP: the tail of backward is communication, until the late rank was ready it is peer wait") {
  const Conclusions found = analyze(plain_ddp(0, 60000) + plain_ddp(1, 70000));
  // forward runs from the wrapped model to the backward call: 10..30; backward 30..60; optimiser 90..100
  CHECK(part(found, "rank:0", "compute") == doctest::Approx(20 + 30 + 10));
  CHECK(part(found, "rank:0", "comm_peer_wait") == doctest::Approx(10));
  CHECK(part(found, "rank:0", "comm_transfer") == doctest::Approx(5));
  CHECK(part(found, "rank:0", "idle") == doctest::Approx(10 + 15));
  CHECK(part(found, "rank:1", "comm_peer_wait") == doctest::Approx(0));
  CHECK(part(found, "rank:1", "comm_transfer") == doctest::Approx(5));
  for (const char* scope : {"all", "rank:0", "rank:1"}) CHECK(sum_of_parts(found, scope) == doctest::Approx(100));
  CHECK(*found.metrics.value("phase.backward_ms", "rank:0") == doctest::Approx(30));
  CHECK(*found.metrics.value("comm.exposed_ms", "rank:0") == doctest::Approx(5));
  CHECK(*found.metrics.value("sync.exposed_ms", "rank:0") == doctest::Approx(15));
  CHECK(part(found, "all", "comm_unsplit") == -1);  // nothing is left over
  CHECK(part(found, "all", "comm_startup") == -1);  // no fabric was measured: absent, not zero
  CHECK(part(found, "all", "sched_irq") == -1);
}

TEST_CASE("on a measured fabric what follows the last arrival is start-up first, then transfer") {
  const auto gathers = [](int rank, const char* ready) {
    return rank_head(rank) + repeat_step(20, 100000,
                                         std::string("range forward @0..@20000 ddp_sync=0\n"
                                                     "range backward @20000..@50000 compute_end_us=@50000\n"
                                                     "collective all_gather ") +
                                             ready +
                                             "..@70000 bytes=160000 elements=20000 dtype=int64 group=w seq={0} id=1\n"
                                             "wait " +
                                             ready +
                                             "..@70000 on=1\n"
                                             "range optimizer @80000..@100000");
  };
  const std::string text = gathers(0, "@60000") + gathers(1, "@62000");
  Inputs inputs;  // two ranks that gather 160000 bytes each: 320000 as a sweep counts
  inputs.fabric = FabricFit{"", "gloo", 2, {{"all_gather", {{1024, 1 << 20, 3000, 0.01}}}}};
  const Conclusions found = analyze(text, inputs);
  CHECK(part(found, "rank:0", "comm_peer_wait") == doctest::Approx(2));
  CHECK(part(found, "rank:0", "comm_startup") == doctest::Approx(3));
  CHECK(part(found, "rank:0", "comm_transfer") == doctest::Approx(5));
  CHECK(part(found, "rank:1", "comm_startup") == doctest::Approx(3));
  CHECK(sum_of_parts(found, "all") == doctest::Approx(100));
  inputs.fabric->operations["all_gather"][0].alpha_us = 9000;  // no more than there is
  CHECK(part(analyze(text, inputs), "rank:0", "comm_startup") == doctest::Approx(8));
  CHECK(part(analyze(text, inputs), "rank:0", "comm_transfer") == doctest::Approx(0));
  inputs.fabric->ranks = 4;  // another job's
  CHECK(part(analyze(text, inputs), "rank:0", "comm_startup") == -1);
  CHECK(part(analyze(text, inputs), "rank:0", "comm_transfer") == doctest::Approx(8));
}

TEST_CASE("compression after backward is serial; the wait inside it is communication") {
  const std::string body =
      "range forward @0..@20000 ddp_sync=0\n"
      "range backward @20000..@50000 compute_end_us=@50000\n"
      "collective all_gather @60000..@70000 bytes=160000 elements=20000 dtype=int64 group=w seq={0} id=1\n"
      "wait @60000..@70000 on=1\n"
      "range optimizer @80000..@100000";
  const Conclusions found = analyze(rank_head(0) + repeat_step(20, 100000, body));
  CHECK(found.facts.at("compression") == "topk");
  CHECK(found.facts.at("compression.place") == "after_backward");
  CHECK(part(found, "all", "compress") == doctest::Approx(10));
  CHECK(part(found, "all", "decompress") == doctest::Approx(10));
  CHECK(part(found, "all", "comm_unsplit") == doctest::Approx(10));
  CHECK(*found.metrics.value("compress.after_backward_percent", "all") == doctest::Approx(100));
  CHECK(*found.metrics.value("compress.serial_percent", "all") == doctest::Approx(20));
  CHECK(*found.metrics.value("compress.wire_ratio_percent", "all") == doctest::Approx(4));
  CHECK_FALSE(found.metrics.value("comm.dense_ratio_percent", "all").value_or(0) > 0);  // inside no_sync
  CHECK(sum_of_parts(found, "all") == doctest::Approx(100));
}

TEST_CASE("a hook runs inside backward: it is compression, not compute, and overlaps only with other lanes") {
  const std::string body =
      "range forward @0..@20000\n"
      "range backward @20000..@80000 lane=1 compute_end_us=@60000\n"
      "range compress @30000..@40000 lane=1 hook=1 bytes=4000000\n"
      "collective all_gather @39000..@70000 lane=1 hook=1 async=1 bytes=160000 elements=20000 dtype=int64 group=w "
      "seq={0}\n"
      "range decompress @70000..@78000 lane=5 hook=1\n"
      "range optimizer @80000..@100000 lane=1";
  const Conclusions found = analyze(rank_head(0, "hook.kind=custom hook.name=f") + repeat_step(20, 100000, body));
  CHECK(found.facts.at("compression.place") == "hook");
  CHECK(part(found, "all", "compute") == doctest::Approx(20 + 30 + 20));
  CHECK(part(found, "all", "compress") == doctest::Approx(10));
  CHECK(part(found, "all", "decompress") == doctest::Approx(8));
  CHECK(part(found, "all", "comm_unsplit") == doctest::Approx(12));
  CHECK(*found.metrics.value("compress.after_backward_percent", "all") == doctest::Approx(0));
  CHECK(*found.metrics.value("comm.overlap_percent", "all") == doctest::Approx(100.0 * 20 / 31));
}

TEST_CASE("compression inside the optimiser step, after DDP reduced everything") {
  const std::string body =
      "range forward @0..@20000\n"
      "range backward @20000..@50000 compute_end_us=@45000\n"
      "range optimizer @50000..@100000 name=TopK.step\n"
      "collective all_gather @70000..@75000 bytes=160000 elements=20000 dtype=int64 group=w seq={0} id=1\n"
      "wait @70000..@75000 on=1\n"
      "range optimizer @90000..@99000 name=SGD.step";
  const Conclusions found = analyze(rank_head(0, "hook.kind=none") + repeat_step(20, 100000, body));
  CHECK(found.facts.at("compression.place") == "in_step");
  CHECK(*found.metrics.value("comm.dense_ratio_percent", "all") == doctest::Approx(100));
  CHECK(*found.metrics.value("compress.collectives_per_step", "all") == doctest::Approx(1));
  CHECK(part(found, "all", "compress") == doctest::Approx(20));
  CHECK(part(found, "all", "decompress") == doctest::Approx(15));
  CHECK(sum_of_parts(found, "all") == doctest::Approx(100));
}

TEST_CASE("native ranges: the collective's range is the blocking call") {
  const std::string body =
      "range forward @0..@20000 source=nvtx\nrange backward @20000..@50000 source=nvtx\n"
      "range none @50000..@60000 source=nvtx name=compress\nrange none @60000..@75000 source=nvtx name=all_gather\n"
      "range none @75000..@80000 source=nvtx name=decompress\nrange optimizer @80000..@100000 source=nvtx";
  const Conclusions found = analyze("process host=n pid=1\nfact rank=0\n" + repeat_step(20, 100000, body));
  CHECK(part(found, "all", "compress") == doctest::Approx(10));
  CHECK(part(found, "all", "comm_unsplit") == doctest::Approx(15));
  CHECK(part(found, "all", "decompress") == doctest::Approx(5));
  CHECK(*found.metrics.value("compress.after_backward_percent", "all") == doctest::Approx(100));
}

TEST_CASE("waiting for input is data; deep and warm-up steps are not counted") {
  std::string text = rank_head(0) + repeat_step(20, 100000,
                                                "range data @0..@30000\nrange forward @30000..@50000\n"
                                                "range backward @50000..@80000\nrange optimizer @80000..@100000");
  text += "step 20 2000000..2900000 deep=1\n";
  const Conclusions found = analyze(text);
  CHECK(*found.metrics.value("data.share_percent", "all") == doctest::Approx(30));
  CHECK(*found.metrics.value("step.count", "all") == doctest::Approx(17));
  CHECK(*found.metrics.value("step.time_ms", "all") == doctest::Approx(100));
  CHECK(found.series.at("steps").rows.size() == 18);  // the deep one is listed, the warm-up is not
}

TEST_CASE("a GPU job without kernels gets step times and no attribution") {
  const Conclusions found =
      analyze("process host=n pid=1\nfact rank=0 device=cuda\n" + repeat_step(20, 1000, "range backward @0..@500"));
  CHECK(found.attribution.empty());
  CHECK(found.metrics.value("step.time_ms", "all").has_value());
  CHECK_FALSE(found.metrics.value("sync.exposed_ms", "all").has_value());
}

TEST_CASE("device steps: kernels compute, stream collectives communicate, idleness is explained") {
  const std::string body =
      "kernel gemm @0..@500 stream=7 source=cupti\ncollective all_reduce @400..@700 stream=9 source=cupti bytes=4000\n"
      "copy h2d @700..@750 stream=7 source=cupti\nhost_sync cudaStreamSynchronize @740..@800 source=cupti";
  const Conclusions found = analyze("process host=n pid=1\nfact rank=0 device=cuda\n" + repeat_step(20, 1000, body));
  CHECK(part(found, "all", "compute") == doctest::Approx(0.5));
  CHECK(part(found, "all", "comm_unsplit") == doctest::Approx(0.2));
  CHECK(part(found, "all", "memcpy") == doctest::Approx(0.05));
  CHECK(part(found, "all", "host_sync") == doctest::Approx(0.05));
  CHECK(part(found, "all", "idle") == doctest::Approx(0.2));
}

// Thread 2 is the engine's: it runs backward and, inside it, the communication hook.
TEST_CASE("a kernel belongs to the phase of the range that launched it, whatever its name is and when it runs") {
  const std::string body =
      "range forward @0..@100 lane=1\nhost_call launch @10..@11 lane=1 source=cupti on={0}1\n"
      "range backward @100..@400 lane=1\nhost_call launch @110..@111 lane=2 source=cupti on={0}2\n"
      "range compress @200..@300 lane=2 hook=1\nhost_call launch @210..@211 lane=2 source=cupti on={0}3\n"
      "range none @220..@240 lane=2 source=nvtx name=ncclGroupEnd\n"
      "host_call launch @230..@231 lane=2 source=cupti on={0}4\n"
      "range decompress @310..@330 lane=5 hook=1\nhost_call launch @320..@321 lane=5 source=cupti on={0}5\n"
      "range optimizer @400..@500 lane=1\nhost_call launch @410..@411 lane=1 source=cupti on={0}6\n"
      "kernel gemm @20..@120 stream=7 source=cupti on={0}1\nkernel gemm @120..@320 stream=7 source=cupti on={0}2\n"
      "kernel nobody_knows_me @320..@420 stream=7 source=cupti on={0}3\n"
      "collective all_reduce @420..@500 stream=9 source=cupti bytes=4000 on={0}4\n"
      "kernel nor_me @500..@550 stream=7 source=cupti on={0}5\nkernel adam @550..@700 stream=7 source=cupti on={0}6\n"
      "kernel gemm @800..@900 stream=7 source=cupti on={0}9";  // its launch was not recorded
  const Conclusions found = analyze(rank_head(0, "hook.kind=custom hook.name=f") + repeat_step(20, 1000, body));
  CHECK(part(found, "all", "compute") == doctest::Approx(0.1 + 0.2 + 0.15 + 0.1));
  CHECK(part(found, "all", "compress") == doctest::Approx(0.1));
  CHECK(part(found, "all", "decompress") == doctest::Approx(0.05));
  CHECK(part(found, "all", "comm_unsplit") == doctest::Approx(0.08));
  CHECK(*found.metrics.value("phase.forward_ms", "all") == doctest::Approx(0.1));
  CHECK(*found.metrics.value("phase.backward_ms", "all") == doctest::Approx(0.2));
  CHECK(*found.metrics.value("phase.optimizer_ms", "all") == doctest::Approx(0.15));
  CHECK(*found.metrics.value("compress.total_ms", "all") == doctest::Approx(0.15));
  CHECK(sum_of_parts(found, "all") == doctest::Approx(1));
}

TEST_CASE("gaps between kernels that compress are the launches', those beside other work are not") {
  const auto percent = [](const char* between) {
    return analyze("process host=n pid=1\nfact rank=0 device=cuda\n" +
                   repeat_step(6, 1000,
                               std::string("kernel gemm @0..@200 stream=7 source=cupti\n"
                                           "range compress @150..@280 lane=1 hook=1\n"
                                           "host_call launch @160..@162 lane=1 source=cupti corr={0}1\n"
                                           "host_call launch @170..@172 lane=1 source=cupti corr={0}2\n"
                                           "host_call launch @250..@252 lane=1 source=cupti corr={0}3\n"
                                           "kernel topk @200..@210 stream=7 source=cupti corr={0}1\n"
                                           "kernel sort @230..@240 stream=7 source=cupti corr={0}2\n"
                                           "kernel pack @260..@270 stream=7 source=cupti corr={0}3\n") +
                                   between))
        .metrics.value("compress.span_percent", "all");
  };
  CHECK(*percent("") == doctest::Approx(7));  // 30 of kernels, 20 + 20 between them; what follows the last is idle
  CHECK(*percent("copy back @212..@228 stream=8 source=cupti\n") == doctest::Approx(5));
  CHECK(*percent("kernel other @235..@265 stream=8 source=cupti\n") == doctest::Approx(4.0));
}

TEST_CASE("a kernel that is launched at the end of a step and runs in the next keeps its phase") {
  std::string text = rank_head(0, "hook.kind=custom hook.name=f");
  for (int step = 0; step < 20; ++step) {
    const auto at = [step](int us) { return std::to_string(step * 1000 + us); };
    const std::string on = std::to_string(step + 1);
    text += "step " + std::to_string(step) + " " + at(0) + ".." + at(1000) + "\nrange compress " + at(900) + ".." +
            at(950) + " lane=1 hook=1\nhost_call launch " + at(910) + ".." + at(911) + " lane=1 source=cupti on=" + on +
            "\nkernel x " + at(1100) + ".." + at(1200) + " stream=7 source=cupti on=" + on + "\n";
  }
  const Conclusions found = analyze(text);
  CHECK(part(found, "all", "compress") == doctest::Approx(0.1));
}

TEST_CASE("a trace of bare operators is not attributed: nothing says what they were for") {
  const Conclusions found = analyze("process host=n pid=1\nfact rank=0 device=cpu\n" +
                                    repeat_step(20, 1000, "range none @0..@900 name=aten::mm source=profiler"));
  CHECK(found.attribution.empty());
  CHECK_FALSE(found.metrics.value("sync.exposed_ms", "all").has_value());
}

namespace {

// 20 plain steps of 1000 µs as the hook sees them, then 5 of the profiler's window, `window_us` long each.
Conclusions gpu_job_with_window(int window_us) {
  std::string text =
      "process host=n pid=1\nfact rank=0 device=cuda\n" + repeat_step(20, 1000, "range backward @0..@900");
  for (int step = 20; step < 25; ++step) {
    const int start = 20000 + (step - 20) * window_us;
    const auto at = [start](int us) { return std::to_string(start + us); };
    text += "step " + std::to_string(step) + " " + at(0) + ".." + at(window_us) + " deep=1\n";
    text += "kernel gemm " + at(0) + ".." + at(window_us / 2) + " stream=7 source=profiler\n";
    text += "collective all_reduce " + at(window_us / 2) + ".." + at(window_us * 3 / 4) +
            " stream=9 source=profiler bytes=4000\n";
  }
  return analyze(text);
}

}  // namespace

TEST_CASE("a GPU job is attributed from its deep window: the window's shares of the plain step") {
  const Conclusions found = gpu_job_with_window(1040);
  CHECK(*found.metrics.value("step.time_ms", "all") == doctest::Approx(1));
  CHECK(part(found, "all", "compute") == doctest::Approx(0.5));
  CHECK(part(found, "all", "comm_unsplit") == doctest::Approx(0.25));
  CHECK(part(found, "all", "idle") == doctest::Approx(0.25));
  CHECK(*found.metrics.value("sync.exposed_ms", "all") == doctest::Approx(0.25));
  CHECK(found.metrics.find("sync.exposed_ms", "all")->n == 5);
  CHECK(found.metrics.value("host_sync.ms", "all").has_value());
  CHECK(found.attribution[0].inflated.empty());
}

TEST_CASE("a window that lengthens its steps by more than 5 %: what follows the host's pace is marked, no metric") {
  const Conclusions found = gpu_job_with_window(1080);
  CHECK(*found.metrics.value("window.inflation_percent", "all") == doctest::Approx(8));
  CHECK(found.attribution[0].inflated == std::vector<std::string>{"data", "host_sync", "idle", "launch"});
  CHECK_FALSE(found.attribution[0].shares_only);
  CHECK(part(found, "all", "idle") == doctest::Approx(0.25));
  for (const char* name : {"attribution.idle_ms", "attribution.launch_ms", "host_sync.ms", "data.share_percent"})
    CHECK_FALSE(found.metrics.value(name, "all").has_value());
  CHECK(found.metrics.value("attribution.compute_ms", "all").has_value());
}

TEST_CASE("above 10 % only shares are named") {
  CHECK(gpu_job_with_window(1200).attribution[0].shares_only);
  CHECK_FALSE(gpu_job_with_window(1080).attribution[0].shares_only);
}
