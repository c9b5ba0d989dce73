// Each rung of the two ladders, and which one is taken where there are several.
#include <doctest/doctest.h>

#include "analyzers/collective_time.h"
#include "src/timeline/fold_nccl_calls.h"
#include "tests/unit/analyzers/run_analyzers.h"

using namespace gradsync;

namespace {

struct Told {
  std::string bytes_from, time_from;
  double us;
  bool operator==(const Told&) const = default;
};
std::ostream& operator<<(std::ostream& out, const Told& told) {
  return out << told.bytes_from << " " << told.time_from << " " << told.us;
}

// Of the first collective of a GPU job.
Told told(const std::string& events) {
  const std::vector<RankTimeline> ranks = test::timelines("process host=n pid=1\nfact rank=0 device=cuda\n" + events);
  const CollectiveTimes times(ranks.at(0));
  for (const Event& event : ranks[0].events) {
    if (event.kind != Kind::collective) continue;
    const CollectiveTime time = times.of(event);
    return {std::string(times.bytes_from(event)), std::string(to_string(time.source)),
            static_cast<double>(time.duration) * 1e-3};
  }
  return {};
}

// A call of NCCL's that enqueues, as `source` saw it.
std::string call(const std::string& source, const std::string& more = "") {
  return "collective all_reduce 10..15 lane=1 group=c seq=1 id=1 extrapolated=1 source=" + source + " " + more + "\n";
}

Coverage entry(const Conclusions& found, const std::string& source) {
  for (const Coverage& one : found.coverage)
    if (one.source == source) return one;
  return {};
}

}  // namespace

TEST_CASE("sizes: the range, the arguments, the plug-in, the hook; nobody") {
  for (const char* source : {"nccl_nvtx", "nccl_wrapper", "nccl_plugin", "torch_hook"})
    CHECK(told(call(source, "bytes=4096")).bytes_from == source);
  CHECK(told(call("nccl_nvtx")).bytes_from == "none");
}

TEST_CASE("a hook's collective without a size takes the call's, and says so") {
  const Told filled = told(
      "collective all_reduce 10..30 lane=1 id=1 source=torch_hook\n"
      "collective all_reduce 12..15 lane=1 id=2 bytes=512 source=nccl_wrapper\n");
  CHECK(filled.bytes_from == "nccl_wrapper");
}

TEST_CASE("times: each rung alone") {
  CHECK(told("collective all_reduce 100..150 stream=7 source=cupti\n").time_from == "kernel");
  CHECK(told(call("nccl_nvtx", "gpu_ns=4100 gpu_ns_from=nccl_kernel_channels")) ==
        Told{"none", "nccl_kernel_channels", 4.1});
  CHECK(told(call("nccl_wrapper", "gpu_ns=5200 gpu_ns_from=cuda_events")) == Told{"none", "cuda_events", 5.2});
  CHECK(told(call("nccl_nvtx") + "range none 20..40 lane=9 name=nccl.proxy_send source=nccl_plugin on=1\n"
                                 "range none 25..60 lane=9 name=nccl.proxy_receive source=nccl_plugin on=1\n") ==
        Told{"none", "nccl_proxy", 40});
  CHECK(told("collective all_reduce 10..30 lane=1 bytes=4 source=torch_hook\n") ==
        Told{"torch_hook", "completion", 20});
  CHECK(told(call("nccl_nvtx") + "host_sync cudaStreamSynchronize 50..80 lane=1 source=cupti\n") ==
        Told{"none", "host_bound", 70});
  CHECK(told(call("nccl_nvtx")) == Told{"none", "none", 0});
}

TEST_CASE("times: the better rung wins, and a wait of another thread or before the call bounds nothing") {
  const std::string worse =
      "range none 20..40 lane=9 name=nccl.proxy_send source=nccl_plugin on=1\n"
      "host_sync cudaStreamSynchronize 50..80 lane=1 source=cupti\n";
  CHECK(told(call("nccl_nvtx", "gpu_ns=4100 gpu_ns_from=nccl_kernel_channels") + worse).time_from ==
        "nccl_kernel_channels");
  CHECK(told(call("nccl_nvtx") + worse).time_from == "nccl_proxy");
  CHECK(told(call("nccl_nvtx") + "host_sync s 2..5 lane=1 source=cupti\nhost_sync s 50..80 lane=2 source=cupti\n")
            .time_from == "none");
}

TEST_CASE("the report says how many by which source, and what would tell the rest") {
  const std::string head = "process host=n pid=1\nfact rank=0 device=cuda\n";
  const Conclusions found =
      test::analyze(head +
                    "collective all_reduce 100..150 stream=7 source=cupti bytes=4096 bytes_from=nccl_nvtx\n"
                    "collective all_reduce 160..180 stream=7 source=cupti bytes=4096 bytes_from=nccl_nvtx\n" +
                    call("nccl_plugin", "bytes=8"));
  const Coverage sizes = entry(found, "sizes of collectives"), times = entry(found, "device time of collectives");
  CHECK(sizes.reason == "2 by nccl_nvtx, 1 by nccl_plugin");
  CHECK(sizes.state == CoverageState::collected);
  CHECK(times.reason == "2 by kernel, 1 not told");
  CHECK(times.state == CoverageState::partial);
  CHECK(times.hint.find("--deep cupti") != std::string::npos);
  CHECK(*found.metrics.value("comm.gpu_timed_percent", "all") == doctest::Approx(200.0 / 3));
  const Series& series = found.series.at("collective_sources");
  REQUIRE(series.rows.size() == 2);
  CHECK(std::get<double>(series.rows[0][4]) == doctest::Approx(35));
}

TEST_CASE("a job without a GPU has no device times to look for") {
  const Conclusions found = test::analyze(
      "process host=n pid=1\nfact rank=0 device=cpu\ncollective all_reduce 10..30 lane=1 bytes=4 source=torch_hook\n");
  CHECK_FALSE(found.series.contains("collective_sources"));
}
