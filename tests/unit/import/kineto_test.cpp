// What becomes of which event: CPU side. Stamps in the traces are µs, in the lines ns.
#include "collectors/import/kineto.h"

#include <doctest/doctest.h>

#include "tests/unit/import/trace_files.h"

namespace gradsync {
namespace {

using Lines = std::vector<std::string>;

struct Imported {
  ImportStats stats;
  test::KeptEvents sink;
};

Imported import(const std::string& text, const std::string& name = "trace.json") {
  const test::TraceFile file(text, name);
  Imported got;
  ImportOptions options;
  options.process = ProcessInfo{"trace", 1};
  const Result<ImportStats> stats = import_kineto(file.path(), options, got.sink);
  REQUIRE(stats);
  got.stats = *stats;
  return got;
}

}  // namespace

TEST_CASE("the autograd profiler's bare array: steps, nested ranges, Gloo's collectives") {
  const Imported got = import(R"([
{"name": "ProfilerStep#12", "ph": "X", "ts": 95, "dur": 54702, "tid": 1, "pid": "CPU functions", "args": {}},
{"name": "aten::linear", "ph": "X", "ts": 200, "dur": 50, "tid": 1, "pid": "CPU functions", "args": {}},
{"name": "aten::addmm", "ph": "X", "ts": 210, "dur": 30, "tid": 1, "pid": "CPU functions", "args": {}},
{"name": "c10d::allreduce_", "ph": "X", "ts": 300, "dur": 12, "tid": 1, "pid": "CPU functions", "args": {}},
{"name": "gloo:all_reduce", "ph": "X", "ts": 305, "dur": 4000, "tid": 3, "pid": "CPU functions", "args": {}}])");
  CHECK(got.sink.lines() == Lines{
                                "step ProfilerStep#12 95000..54797000 lane=0 step=12",
                                "range aten::linear 200000..250000 lane=0",
                                "range aten::addmm 210000..240000 lane=0",
                                "range c10d::allreduce_ 300000..312000 lane=0",
                                "collective all_reduce 305000..4305000 lane=1",
                            });
  CHECK(got.sink.facts == std::map<std::string, std::string>{{"device", "cpu"}});
  CHECK(got.sink.lanes == std::map<std::string, std::string>{{"0", "thread 1"}, {"1", "thread 3"}});
  CHECK(got.sink.processes.size() == 1);
  CHECK(got.stats.elements == 5);
  CHECK(got.stats.first == 95'000);
  CHECK(got.stats.last == 54'797'000);
  std::uint64_t ordinal = 0;
  for (const Event& event : got.sink.events) {
    CHECK(event.reference == ++ordinal);
    CHECK(event.source == Source::profiler);
  }
}

TEST_CASE("Kineto on CPUs: fractional stamps, distributedInfo, input shapes tell Gloo's bytes") {
  const Imported got = import(R"json({
  "schemaVersion": 1,
  "distributedInfo": {"backend": "gloo", "rank": 34, "world_size": 300, "pg_config": [{"pg_name": "0", "ranks": [0, 1]}]},
  "traceEvents": [
  {"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#5", "pid": 77, "tid": 78, "ts": 1212075548000.001, "dur": 9000.5,
   "args": {"External id": 1, "Ev Idx": 0}},
  {"ph": "X", "cat": "user_annotation", "name": "gloo:all_reduce", "pid": 77, "tid": 79, "ts": 1212075548353.304, "dur": 173.713,
   "args": {"External id": 1025, "Concrete Inputs": [""], "Input type": ["float"], "Input Dims": [[321271]]}},
  {"ph": "X", "cat": "user_annotation", "name": "gloo:barrier", "pid": 77, "tid": 79, "ts": 1212075549000, "dur": 1, "args": {}},
  {"ph": "X", "cat": "python_function", "name": "train.py(87): topk_hook", "pid": 77, "tid": 78, "ts": 1212075548400, "dur": 3,
   "args": {"Python id": 4}},
  {"ph": "X", "cat": "Trace", "name": "PyTorch Profiler (0)", "pid": "Spans", "tid": "PyTorch Profiler", "ts": 1, "dur": 9999999},
  {"name": "thread_name", "ph": "M", "ts": 0, "pid": 77, "tid": 79, "args": {"name": "thread 79 (pt_gloo)"}},
  {"ph": "i", "name": "Record Window End", "pid": "", "tid": "", "s": "g", "ts": 1212075557000}
  ],
  "baseTimeNanoseconds": 1719853884000000000
})json");
  CHECK(
      got.sink.lines() ==
      Lines{
          "step ProfilerStep#5 1212075548000001..1212075557000501 lane=0 step=5",
          "collective all_reduce 1212075548353304..1212075548527017 lane=1 bytes=1285084 dtype=float32 elements=321271",
          "collective barrier 1212075549000000..1212075549001000 lane=1",
          "range train.py(87): topk_hook 1212075548400000..1212075548403000 lane=0",
      });
  CHECK(got.sink.lanes == std::map<std::string, std::string>{{"0", "thread 78"}, {"1", "thread 79 (pt_gloo)"}});
  CHECK(got.sink.facts == std::map<std::string, std::string>{
                              {"backend", "gloo"}, {"device", "cpu"}, {"rank", "34"}, {"world_size", "300"}});
  CHECK(got.stats.rank.rank == 34);
  CHECK(got.stats.rank.source == RankSource::distributed_info);
  CHECK(got.stats.world_size == 300);
  CHECK(got.stats.base_time == 1'719'853'884'000'000'000);
  CHECK(got.stats.profiler_spans == 1);
  CHECK(got.stats.metadata == 1);
  CHECK(got.stats.instants == 1);
  CHECK(got.stats.processes == 1);
}

TEST_CASE("members in any order; of repeated keys the last counts; escapes are resolved") {
  const Imported got = import(R"([
{"args": {"stream": 9, "correlation": 5}, "tid": 7, "dur": 2, "name": "late \"cat\" \u00e9", "ts": 1, "pid": 0, "ph": "X", "cat": "kernel"},
{"ph": "B", "ph": "X", "ts": 5, "ts": 10, "dur": 1, "name": "x", "name": "aten::mul", "pid": 1, "tid": 1, "args": {}, "args": 3}
])");
  CHECK(got.sink.lines() == Lines{
                                "kernel late \"cat\" \u00e9 1000..3000 lane=s9 correlation=5",
                                "range aten::mul 10000..11000 lane=0",
                            });
}

TEST_CASE("begin and end make ranges, nested as they were") {
  const Imported got = import(R"([
{"ph": "B", "name": "outer", "pid": 1, "tid": 1, "ts": 1},
{"ph": "B", "name": "inner", "pid": 1, "tid": 1, "ts": 2},
{"ph": "B", "name": "other", "pid": 1, "tid": 2, "ts": 3},
{"ph": "E", "pid": 1, "tid": 1, "ts": 4},
{"ph": "E", "pid": 1, "tid": 1, "ts": 5},
{"ph": "E", "pid": 1, "tid": 1, "ts": 6}
])");
  CHECK(got.sink.lines() == Lines{
                                "range inner 2000..4000 lane=0", "range outer 1000..5000 lane=0",
                                "range other 3000..0 lane=1",  // never ended
                            });
  CHECK(got.stats.malformed == 1);
}

TEST_CASE("events without time, name or sense are counted, not imported") {
  const Imported got = import(R"([
{"ph": "X", "name": "no time", "pid": 1, "tid": 1},
{"ph": "X", "name": "nan", "ts": NaN, "dur": 1, "pid": 1, "tid": 1},
{"ph": "X", "name": "20 digits", "ts": 12345678901234567890, "dur": 1, "pid": 1, "tid": 1},
{"ph": "X", "name": "backwards", "ts": 5, "dur": -1, "pid": 1, "tid": 1},
{"ph": "X", "name": "beyond", "ts": 9223372036854775, "dur": 9223372036854775, "pid": 1, "tid": 1},
{"ph": "X", "ts": 5, "dur": 1, "pid": 1, "tid": 1},
{"name": "no phase", "ts": 5, "dur": 1},
{"ph": "C", "name": "counter", "ts": 5, "args": {"x": 1}},
{"ph": "s", "name": "arrow", "ts": 5}, {"ph": "f", "name": "arrow", "ts": 5},
{"ph": "X", "name": "kept", "ts": 5, "pid": 1, "tid": 1, "args": {"occupancy": NaN, "Comms Id": 101599708867660844231}},
7, "text"
])");
  CHECK(got.sink.lines() == Lines{"range kept 5000..5000 lane=0"});
  CHECK(got.stats.malformed == 9);
  CHECK(got.stats.other_phases == 1);
  CHECK(got.stats.flows == 2);
  CHECK(got.stats.elements == 13);
  CHECK(got.stats.lost == 0);
}

TEST_CASE("a merged trace is told by its processes") {
  const Imported got = import(R"([
{"ph": "X", "cat": "cpu_op", "name": "a", "pid": 1, "tid": 1, "ts": 1, "dur": 1},
{"ph": "X", "cat": "cpu_op", "name": "a", "pid": 2, "tid": 1, "ts": 1, "dur": 1},
{"ph": "X", "cat": "overhead", "name": "Activity Buffer Request", "pid": -1, "tid": 0, "ts": 1, "dur": 1}
])");
  CHECK(got.stats.processes == 2);
}

TEST_CASE("the caller may know the rank, the name may tell it") {
  const std::string text = R"([{"ph": "X", "name": "a", "pid": 1, "tid": 1, "ts": 1, "dur": 1}])";
  CHECK(import(text, "rank3.json").sink.facts.at("rank") == "3");
  CHECK_FALSE(import(text).sink.facts.contains("rank"));
  const test::TraceFile file(text, "rank3.json");
  test::KeptEvents sink;
  ImportOptions options;
  options.process = ProcessInfo{};
  options.rank = 6;
  CHECK(import_kineto(file.path(), options, sink)->rank.source == RankSource::caller);
  CHECK(sink.facts.at("rank") == "6");
}

TEST_CASE("what is not a trace writes nothing") {
  for (const char* text : {"hello", "", "[1, 2]", R"({"a": [{"ph": "X"}]})", R"({"schemaVersion": 1, "devi)"}) {
    CAPTURE(text);
    const test::TraceFile file(text);
    test::KeptEvents sink;
    ImportOptions options;
    options.process = ProcessInfo{};
    const Result<ImportStats> stats = import_kineto(file.path(), options, sink);
    REQUIRE_FALSE(stats);
    CHECK(stats.error().message().find(file.path().string() + ": it") != std::string::npos);
    CHECK(sink.processes.empty());
    CHECK(sink.events.empty());
  }
}

}  // namespace gradsync
