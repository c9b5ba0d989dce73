// From names and records of CUPTI to collectives of the device with what their calls know.
#include "src/commands/device_link.h"

#include <doctest/doctest.h>

#include "src/commands/device_names.h"
#include "src/timeline/builder.h"
#include "tests/support/text_events.h"

using namespace gradsync;

namespace {

constexpr const char* kAllReduce = "_Z39ncclDevKernel_AllReduce_Sum_f32_RING_LL24ncclDevKernelArgsStorageILm4096EE";
constexpr const char* kSendRecv = "_Z22ncclDevKernel_SendRecv24ncclDevKernelArgsStorageILm4096EE";

// $AR and $SR stand for the names of kernels.
RankTimeline build(std::string text) {
  for (const auto& [sign, name] : {std::pair{"$AR", kAllReduce}, {"$SR", kSendRecv}})
    for (std::size_t at = text.find(sign); at != std::string::npos; at = text.find(sign)) text.replace(at, 3, name);
  TimelineBuilder builder;
  DeviceNames names(builder);
  test::feed("process host=n pid=10\nfact rank=0\n" + text, names);
  names.lane({LaneId{1}, 41, "python3"});
  names.lane({LaneId{2}, 42, "pt_autograd_0"});
  std::vector<RankTimeline> ranks = builder.build();
  link_device_collectives(ranks);
  return std::move(ranks.at(0));
}

std::vector<const Event*> of(const RankTimeline& rank, Kind kind) {
  std::vector<const Event*> found;
  for (const Event& event : rank.events)
    if (event.kind == kind) found.push_back(&event);
  return found;
}

}  // namespace

TEST_CASE("kernels get readable names, NCCL's become collectives, and streams are announced") {
  const RankTimeline rank = build(R"(
    kernel _Z4gemmIfLi8EEvPKT_i 100..200 source=cupti stream=65543
    kernel _Zbroken 200..210 source=cupti stream=7
    kernel $AR 300..400 source=cupti stream=7
    kernel _Z4gemmIfLi8EEvPKT_i 500..600 source=profiler stream=7
  )");
  CHECK(rank.name(rank.events[0]) == "void gemm<float, 8>(float const*, int)");
  CHECK(rank.name(rank.events[1]) == "_Zbroken");
  CHECK(rank.events[2].kind == Kind::collective);
  CHECK(rank.name(rank.events[2]) == "all_reduce");
  CHECK(rank.text(rank.events[2], "op") == "sum");
  CHECK(rank.text(rank.events[2], "kernel") ==
        "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)");
  CHECK(rank.name(rank.events[3]) == "_Z4gemmIfLi8EEvPKT_i");  // a profiler's names are what it made of them
  std::vector<std::string> lanes;
  for (const LaneInfo& lane : rank.lanes) lanes.push_back(lane.name);
  CHECK(lanes == std::vector<std::string>{"device 1 stream 7", "stream 7", "python3", "pt_autograd_0"});
}

TEST_CASE("a collective's kernel knows what its call said, and the call is no second collective") {
  const RankTimeline rank = build(R"(
    collective all_reduce 10..40 lane=2 bytes=4096 group=dp seq=3 hook=1 dtype=float32 elements=1024 site=a.py:3
    collective all_reduce 15..30 lane=2 bytes=4096 group=00c0ffee source=nccl_nvtx
    host_call cudaLaunchKernelExC 20..25 lane=9 source=cupti seq=42 on=5
    kernel $AR 300..400 source=cupti stream=7 on=5
  )");
  const auto collectives = of(rank, Kind::collective);
  REQUIRE(collectives.size() == 1);
  const Event& kernel = *collectives[0];
  CHECK(kernel.start == 300000);
  CHECK(kernel.bytes == 4096);
  CHECK(rank.name(kernel.group) == "dp");  // the label that the other steps have, too
  CHECK(kernel.sequence == 3);
  CHECK(kernel.has(kFlagInHook));
  CHECK(rank.text(kernel, "dtype") == "float32");
  CHECK(rank.text(kernel, "site") == "a.py:3");
  CHECK(rank.text(kernel, "bytes_from") == "torch_hook");  // into which NCCL's call was folded
  CHECK(rank.integer(kernel, "elements") == 1024);
  CHECK(of(rank, Kind::range).size() == 1);  // NCCL's call was folded into the framework's before
}

TEST_CASE("without the library's ranges the framework's calls do") {
  const RankTimeline rank = build(R"(
    collective all_reduce 10..40 lane=1 bytes=512 group=dp seq=1
    host_call cuLaunchKernelEx 20..25 lane=9 source=cupti seq=41 on=5
    kernel $AR 300..400 source=cupti stream=7 on=5
  )");
  const auto collectives = of(rank, Kind::collective);
  REQUIRE(collectives.size() == 1);
  CHECK(collectives[0]->bytes == 512);
  CHECK(collectives[0]->sequence == 1);
}

TEST_CASE("a group launches at its end: one kernel has the sum, of unlike ones nothing is said") {
  const char* const group = R"(
    range none 10..11 name=ncclGroupStart lane=1 source=nccl_nvtx
    collective all_reduce 12..13 lane=1 bytes=100 group=c seq=1 source=nccl_nvtx
    collective all_reduce 14..15 lane=1 bytes=200 group=c seq=2 source=nccl_nvtx
    range none 16..30 name=ncclGroupEnd lane=1 source=nccl_nvtx
    host_call cuLaunchKernelEx 20..25 lane=9 source=cupti seq=41 on=5
    kernel $AR 300..400 source=cupti stream=7 on=5
  )";
  const RankTimeline one = build(group);
  REQUIRE(of(one, Kind::collective).size() == 1);
  CHECK(of(one, Kind::collective)[0]->bytes == 300);
  CHECK(one.text(*of(one, Kind::collective)[0], "bytes_from") == "nccl_nvtx");
  CHECK(one.name(of(one, Kind::collective)[0]->group) == "c");

  const RankTimeline two = build(std::string(group) + R"(
    host_call cuLaunchKernelEx 26..27 lane=9 source=cupti seq=41 on=6
    kernel $AR 400..500 source=cupti stream=7 on=6
  )");
  REQUIRE(of(two, Kind::collective).size() == 2);
  for (const Event* kernel : of(two, Kind::collective)) CHECK(kernel->bytes == 0);
}

TEST_CASE("a group whose calls only the framework's hook tells, beside a call of NCCL's own") {
  const RankTimeline rank = build(R"(
    collective broadcast 1..3 lane=1 bytes=8 group=other source=nccl_nvtx
    range none 10..11 name=ncclGroupStart lane=1 source=nccl_nvtx
    collective all_reduce 12..13 lane=1 bytes=100 group=dp seq=1 dtype=float32 elements=25
    collective all_reduce 14..15 lane=1 bytes=200 group=dp seq=2 dtype=float32
    range none 16..30 name=ncclGroupEnd lane=1 source=nccl_nvtx
    host_call cuLaunchKernelEx 20..25 lane=9 source=cupti seq=41 on=5
    kernel $AR 300..400 source=cupti stream=7 on=5
  )");
  const auto collectives = of(rank, Kind::collective);
  REQUIRE(collectives.size() == 2);
  CHECK(rank.name(*collectives[0]) == "broadcast");  // its kernel was not seen
  CHECK(collectives[1]->bytes == 300);
  CHECK(rank.name(collectives[1]->group) == "dp");
  CHECK(rank.text(*collectives[1], "dtype") == "float32");
  CHECK_FALSE(rank.integer(*collectives[1], "elements"));
}

TEST_CASE("calls whose kernel was not seen stay collectives") {
  const RankTimeline rank = build(R"(
    collective all_reduce 10..40 lane=1 bytes=512 group=dp seq=1
    collective all_reduce 50..80 lane=1 bytes=512 group=dp seq=2
    host_call cuLaunchKernelEx 20..25 lane=9 source=cupti seq=41 on=5
    kernel $AR 300..400 source=cupti stream=7 on=5
    host_call cuLaunchKernelEx 200..205 lane=9 source=cupti seq=77 on=6
    kernel $SR 500..600 source=cupti stream=7 on=6
  )");
  const auto collectives = of(rank, Kind::collective);
  REQUIRE(collectives.size() == 3);
  CHECK(collectives[0]->start == 50000);
  CHECK(rank.name(*collectives[2]) == "send_recv");
  CHECK(collectives[2]->bytes == 0);
}

TEST_CASE("without the device's records nothing changes") {
  const RankTimeline rank = build(R"(
    collective all_reduce 10..40 lane=1 bytes=512 group=dp seq=1
    kernel ncclDevKernel_AllReduce_Sum_f32_RING_LL 300..400 source=profiler stream=7 on=5
  )");
  CHECK(of(rank, Kind::collective).size() == 1);
}
