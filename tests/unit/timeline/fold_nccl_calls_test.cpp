#include "src/timeline/fold_nccl_calls.h"

#include <doctest/doctest.h>

#include "src/timeline/builder.h"
#include "tests/support/text_events.h"

using namespace gradsync;

namespace {

RankTimeline rank_of(const char* text) {
  TimelineBuilder builder;
  test::feed(text, builder);
  auto ranks = builder.build();
  REQUIRE(ranks.size() == 1);
  return std::move(ranks.front());
}

std::vector<std::string> collectives(const RankTimeline& rank) {
  std::vector<std::string> found;
  for (const Event& event : rank.events)
    if (event.kind == Kind::collective)
      found.push_back(std::string(rank.name(event)) + " " + std::string(to_string(event.source)));
  return found;
}

}  // namespace

TEST_CASE("the NCCL call inside the hook's collective is folded into it") {
  const RankTimeline rank = rank_of(R"(
    process host=n pid=10
    fact rank=0
    collective all_reduce 100..200 lane=1 bytes=4096 source=torch_hook dtype=float32
    collective all_reduce 110..190 lane=1 bytes=4096 source=nccl_nvtx algorithm=RING protocol=LL128 channels=8 gpu_ns=700 gpu_ns_from=nccl_kernel_channels
  )");
  CHECK(collectives(rank) == std::vector<std::string>{"all_reduce torch_hook"});
  const Event& event = rank.events[0];
  CHECK(rank.text(event, "algorithm") == "RING");
  CHECK(rank.text(event, "protocol") == "LL128");
  CHECK(rank.integer(event, "channels") == 8);
  CHECK(rank.integer(event, "gpu_ns") == 700);
  CHECK(rank.text(event, "gpu_ns_from") == "nccl_kernel_channels");
  CHECK(rank.text(event, "dtype") == "float32");
}

TEST_CASE("calls of other threads, outside, or without a hook's event stay") {
  const RankTimeline rank = rank_of(R"(
    process host=n pid=10
    fact rank=0
    collective all_reduce 10..20 lane=1 bytes=1 source=nccl_wrapper
    collective all_reduce 100..200 lane=1 bytes=4096 source=torch_hook
    collective all_reduce 110..190 lane=2 bytes=2 source=nccl_nvtx
    collective all_reduce 210..290 lane=1 bytes=3 source=nccl_nvtx
    collective all_reduce 300..310 lane=3 bytes=4 source=nccl_plugin
  )");
  CHECK(collectives(rank).size() == 5);
}

TEST_CASE("several calls inside one: times add up, the first choice is kept, unknown bytes are filled in") {
  const RankTimeline rank = rank_of(R"(
    process host=n pid=10
    fact rank=0
    collective all_to_all 100..200 lane=1 source=torch_hook
    collective send 110..120 lane=1 bytes=512 source=nccl_wrapper gpu_ns=5 channels=2
    collective recv 130..140 lane=1 bytes=256 source=nccl_wrapper gpu_ns=6 channels=4
  )");
  REQUIRE(collectives(rank) == std::vector<std::string>{"all_to_all torch_hook"});
  CHECK(rank.events[0].bytes == 512);
  CHECK(rank.integer(rank.events[0], "gpu_ns") == 11);
  CHECK(rank.integer(rank.events[0], "channels") == 2);
}

TEST_CASE("what pointed to the call points to the hook's event") {
  RankTimeline rank = rank_of(R"(
    process host=n pid=10
    fact rank=0
    collective all_reduce 100..200 lane=1 bytes=4096 source=torch_hook id=1
    collective all_reduce 110..190 lane=1 bytes=4096 source=nccl_nvtx id=2
    range none 150..160 lane=2 name=nccl.proxy_send source=nccl_plugin on=2
  )");
  REQUIRE(rank.events.size() == 2);
  CHECK(rank.events[1].correlation == rank.events[0].reference);
}
