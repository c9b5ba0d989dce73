#include "collectors/import/lane_table.h"

#include <doctest/doctest.h>

#include "tests/unit/import/trace_files.h"

namespace gradsync {
namespace {

TraceEvent on_thread(const char* pid, const char* tid) {
  TraceEvent event;
  event.pid = pid;
  event.tid = tid;
  return event;
}

TraceEvent on_stream(std::int64_t device, std::int64_t stream) {
  TraceEvent event;
  event.device = device;
  event.stream = stream;
  return event;
}

std::uint32_t number(LaneId lane) { return static_cast<std::uint32_t>(lane); }

}  // namespace

TEST_CASE("threads get ordinals in order of appearance") {
  LaneTable lanes;
  CHECK(number(lanes.host(on_thread("CPU functions", "1"))) == 0);
  CHECK(number(lanes.host(on_thread("CPU functions", "3"))) == 1);
  CHECK(number(lanes.host(on_thread("CPU functions", "1"))) == 0);
  CHECK(number(lanes.host(on_thread("77", "1"))) == 2);
  CHECK(lanes.host_processes() == 2);
}

TEST_CASE("streams keep their numbers; those of a second device move aside") {
  LaneTable lanes;
  CHECK(number(lanes.device(on_stream(0, 7))) == 0x80000007);
  CHECK(number(lanes.device(on_stream(0, 20))) == 0x80000014);
  CHECK(number(lanes.device(on_stream(1, 7))) == (0x80000000 | LaneTable::kMostLanes / 2));
  CHECK(number(lanes.device(on_stream(1, 8))) == 0x80000008);
  CHECK(number(lanes.device(on_stream(0, -5))) == (0x80000000 | (LaneTable::kMostLanes / 2 + 1)));
  CHECK(number(lanes.device(on_stream(0, 7))) == 0x80000007);
  CHECK(number(lanes.device(on_thread("0", "stream 7"))) == 0x80000007);  // before torch 1.10
  CHECK(lanes.devices() == 2);
}

TEST_CASE("names come from metadata, whenever it comes") {
  LaneTable lanes;
  lanes.host(on_thread("77", "78"));
  lanes.host(on_thread("77", "15514734831341844875"));  // a hash, not a thread id
  TraceEvent stream = on_stream(0, 7);
  stream.pid = "0";
  stream.tid = "7";
  lanes.device(stream);
  TraceEvent name = on_thread("77", "78");
  name.label = "thread 78 (pt_autograd_0)";
  lanes.name(name);
  TraceEvent stream_name = on_thread("0", "7");
  stream_name.label = "stream 7 ";
  lanes.name(stream_name);

  test::KeptEvents sink;
  lanes.announce(sink);
  CHECK(sink.lanes == std::map<std::string, std::string>{{"0", "thread 78 (pt_autograd_0)"},
                                                         {"1", "thread 15514734831341844875"},
                                                         {"s7", "stream 7"}});
}

}  // namespace gradsync
