#include "collectors/import/deep_window.h"

#include <doctest/doctest.h>

#include "tests/unit/import/trace_files.h"

namespace gradsync {
namespace {

std::string event(const char* name, int start_us, int duration_us) {
  return std::string(R"({"name": ")") + name + R"(", "ph": "X", "ts": )" + std::to_string(start_us) + R"(, "dur": )" +
         std::to_string(duration_us) + R"(, "tid": 1, "pid": "CPU functions", "args": {}})";
}

}  // namespace

TEST_CASE("a window's events land on the job's clock, its markers are not among them") {
  const test::TraceFile file("[" + event("gsd_clock_open", 10, 4) + ", " + event("aten::mul", 100, 50) + ", " +
                             event("gsd_clock_close", 1'010, 4) + "]");
  test::KeptEvents sink;
  // 12 µs of the profile are 5,000,000 ns; a millisecond later the clocks differ by 0.6 µs more.
  const Result<DeepWindowStats> stats = import_deep_window(file.path(), {5'000'000, 6'000'600}, sink);
  REQUIRE(stats);
  CHECK(sink.lines() == std::vector<std::string>{"range aten::mul 5088053..5138083 lane=0"});
  CHECK(stats->events == 1);
  CHECK(stats->lost == 0);
  CHECK(stats->clock_residual_us == doctest::Approx(0.6));
  CHECK(sink.processes.empty());  // begun by the caller
  CHECK(sink.facts.empty());
}

TEST_CASE("Kineto draws markers on the device as well; those do not count") {
  const test::TraceFile file(test::object_trace(
      R"({"ph": "X", "cat": "user_annotation", "name": "gsd_clock_open", "pid": 7, "tid": 7, "ts": 10.500, "dur": 1, "args": {}},
{"ph": "X", "cat": "gpu_user_annotation", "name": "gsd_clock_open", "pid": 0, "tid": 7, "ts": 5, "dur": 1, "args": {}},
{"ph": "X", "cat": "user_annotation", "name": "gsd_clock_close", "pid": 7, "tid": 7, "ts": 20.500, "dur": 1, "args": {}},
{"ph": "X", "cat": "gpu_user_annotation", "name": "gsd_clock_close", "pid": 0, "tid": 7, "ts": 99, "dur": 1, "args": {}},
{"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": 12, "dur": 1, "args": {"stream": 7}})"));
  test::KeptEvents sink;
  const Result<DeepWindowStats> stats = import_deep_window(file.path(), {1'000, 11'000}, sink);
  REQUIRE(stats);
  CHECK(sink.lines() == std::vector<std::string>{"kernel gemm 2000..3000 lane=s7"});
  CHECK(stats->clock_residual_us == 0);
}

TEST_CASE("without its markers a window cannot be placed, and nothing is written") {
  const std::string open = event("gsd_clock_open", 10, 4), close = event("gsd_clock_close", 50, 4);
  const std::pair<std::string, const char*> cases[] = {
      {"[" + event("aten::mul", 1, 1) + "]", "it has neither gsd_clock_open nor gsd_clock_close"},
      {"[" + open + ", " + event("aten::mul", 1, 1), "it has no gsd_clock_close"},
      {"[" + close + "]", "it has no gsd_clock_open"},
      {"[" + event("gsd_clock_close", 1, 1) + ", " + open + "]",
       "its gsd_clock_close is not behind its gsd_clock_open"},
  };
  for (const auto& [text, why] : cases) {
    CAPTURE(text);
    const test::TraceFile file(text);
    test::KeptEvents sink;
    const Result<DeepWindowStats> stats = import_deep_window(file.path(), {1, 2}, sink);
    REQUIRE_FALSE(stats);
    CHECK(stats.error().message() ==
          "cannot place the deep window on the job's clock " + file.path().string() + ": " + why);
    CHECK(sink.events.empty());
  }
}

TEST_CASE("a window that is cut behind its markers gives what is there and says what is not") {
  const test::TraceFile file("[" + event("gsd_clock_open", 10, 4) + ", " + event("gsd_clock_close", 50, 4) + ", " +
                             event("aten::mul", 20, 1) + R"(, {"name": "aten::a)");
  test::KeptEvents sink;
  const Result<DeepWindowStats> stats = import_deep_window(file.path(), {1'000, 41'000}, sink);
  REQUIRE(stats);
  CHECK(stats->events == 1);
  CHECK(stats->lost == 1);
  CHECK(stats->loss_reason == "the trace ends in the middle of its events");
  CHECK(sink.of(Kind::loss).size() == 1);
}

}  // namespace gradsync
