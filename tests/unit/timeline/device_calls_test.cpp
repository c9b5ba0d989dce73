#include "src/timeline/device_calls.h"

#include <doctest/doctest.h>

#include "src/timeline/builder.h"
#include "tests/support/text_events.h"

using namespace gradsync;

namespace {

// Threads 41 and 42 have lanes 1 and 2; lane 9 is the thread that reads CUPTI's buffers.
RankTimeline build(const char* text) {
  TimelineBuilder builder;
  test::feed(std::string("process host=n pid=10\nfact rank=0\n") + text, builder);
  builder.lane({LaneId{1}, 41, "python3"});
  builder.lane({LaneId{2}, 42, "pt_autograd_0"});
  return std::move(builder.build().at(0));
}

const Event& named(const RankTimeline& rank, std::string_view name) {
  for (const Event& event : rank.events)
    if (rank.name(event) == name) return event;
  FAIL("no event is called " << name);
  return rank.events[0];
}

}  // namespace

TEST_CASE("a call stands on the lane of the thread that made it") {
  const RankTimeline rank = build(R"(
    range backward 0..50 lane=1
    range compress 0..50 lane=2 name=hook
    host_call first 10..11 lane=9 source=cupti seq=42 on=5
    host_call stranger 12..13 lane=9 source=cupti seq=77 on=6
    host_call other 14..15 lane=9 source=profiler seq=42 on=7
  )");
  CHECK(named(rank, "first").lane == named(rank, "hook").lane);
  CHECK(named(rank, "first").sequence == 0);
  CHECK(named(rank, "stranger").lane == named(rank, "other").lane);  // nobody knows that thread: left where it was
  CHECK(named(rank, "stranger").lane != named(rank, "hook").lane);
}

TEST_CASE("one waiting that is there twice counts once") {
  const RankTimeline rank = build(R"(
    host_sync cudaStreamSynchronize 10..20 lane=9 source=cupti seq=41 on=5
    host_sync stream_record 11..19 lane=9 source=cupti on=5
    host_call cudaMemcpy 30..40 lane=9 source=cupti seq=41 on=6
    host_sync copy_record 31..39 lane=9 source=cupti on=6
    host_sync alone 50..60 lane=9 source=cupti on=7
    host_sync unlinked 70..80 lane=9 source=cupti
  )");
  CHECK(named(rank, "cudaStreamSynchronize").kind == Kind::host_sync);
  CHECK(named(rank, "stream_record").kind == Kind::mark);
  CHECK(named(rank, "cudaMemcpy").kind == Kind::host_sync);  // it waited
  CHECK(named(rank, "copy_record").kind == Kind::mark);
  CHECK(named(rank, "alone").kind == Kind::host_sync);
  CHECK(named(rank, "unlinked").kind == Kind::host_sync);
}
