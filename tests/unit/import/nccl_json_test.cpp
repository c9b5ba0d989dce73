// The two kinds of JSON: nccl-tests' own (-J) and the records of NCCL Inspector.
#include <doctest/doctest.h>

#include <cmath>

#include "collectors/import/nccl_inspector.h"
#include "collectors/import/nccl_tests_json.h"
#include "collectors/import/recognise.h"
#include "tests/unit/import/trace_files.h"

namespace gradsync {
namespace {

const std::string kHead =
    R"({"version":3,"start_time":"2026-01-02 10:00:00","args":["\/opt\/all_reduce_perf","-J","x"],"env":["TOKEN=secret"],)"
    R"("nccl_version":22807,"config":{"nthreads":1,"ngpus":2,"minimum_bytes":8,"iterations":20,"devices":[)"
    R"({"rank":0,"hostname":"alpha","device_info":"NVIDIA H100"},{"rank":2,"hostname":"beta","device_info":"NVIDIA H100"}]},)"
    R"("results":[)";
const std::string kResult =
    R"({"size":1024,"count":256,"type":"float","redop":"sum","root":"    -1",)"
    R"("out_of_place":{"time":10.5,"alg_bw":1.0,"bus_bw":1.5,"nwrong":0.000000},)"
    R"("out_of_place_per_iter":{"skipped_iterations":1,"times_us":[99.0,10.0,11.0,12.0]},)"
    R"("in_place":{"time":11.5,"alg_bw":1.0,"bus_bw":"nan","nwrong":null},"actual_iterations":20,"experiment_name":""})";
const std::string kTail =
    R"(],"out_of_bounds":{"count":0,"okay":"true"},"average_bus_bandwidth":{"bandwidth":1.5,"okay":"unchecked"},"errors":[]})";

std::string record(std::int64_t bytes, int us, const std::string& name = "AllReduce", int ranks = 8) {
  return R"({"header":{"id":"0x1","rank":0,"n_ranks":)" + std::to_string(ranks) +
         R"(,"nnodes":1},"metadata":{"hostname":"alpha","pid":1},"coll_perf":{"coll":")" + name +
         R"(","coll_sn":1,"coll_msg_size_bytes":)" + std::to_string(bytes) + R"(,"coll_exec_time_us":)" +
         std::to_string(us) +
         R"(,"coll_timing_source":"kernel_gpu","coll_algobw_gbs":1.0,"coll_busbw_gbs":1.75,"event_trace_ts":{"a":[{}]}}})";
}

SeriesSet told(const std::string& text, Facts* facts = nullptr) {
  InspectorRecords records;
  records.add(text, InspectorRecords::More::none);
  SeriesSet series;
  Facts ignored;
  records.report("a.jsonl", series, facts != nullptr ? *facts : ignored);
  return series;
}

}  // namespace

TEST_CASE("nccl-tests JSON: the rows, with quantiles where every iteration is there") {
  const NcclTestsJson found = read_nccl_tests_json(kHead + kResult + kTail);
  CHECK_FALSE(found.cut);
  CHECK(found.version == "2.28.7");
  CHECK(found.run.operation == "all_reduce");
  CHECK(found.run.ranks == 4);  // two processes with two GPUs each
  CHECK(found.run.nodes == 2);
  CHECK(found.run.out_of_bounds == 0);
  CHECK(found.run.average_busbw == doctest::Approx(1.5));
  REQUIRE(found.run.rows.size() == 2);
  const SweepRow& out = found.run.rows[0];
  CHECK(out.bytes == 1024);
  CHECK(out.n == 3);  // the test itself leaves out the first
  CHECK(out.p50_us == doctest::Approx(11));
  CHECK(out.p90_us == doctest::Approx(11.8));
  CHECK(out.wrong == 0);
  const SweepRow& in = found.run.rows[1];
  CHECK(in.place == "in");
  CHECK(in.n == 20);
  CHECK(in.p50_us == doctest::Approx(11.5));
  CHECK(std::isnan(in.p90_us));
  CHECK(std::isnan(in.busbw));
  CHECK(std::isnan(in.wrong));
}

TEST_CASE("nccl-tests JSON that is cut anywhere gives the results before the cut") {
  const std::string whole = kHead + kResult + "," + kResult + kTail;
  for (std::size_t length = 0; length < whole.size(); length += 11) {
    CAPTURE(length);
    const NcclTestsJson found = read_nccl_tests_json(whole.substr(0, length));
    CHECK(found.cut);
    CHECK(found.run.rows.size() == (length >= kHead.size() + 2 * kResult.size() + 1 ? 4
                                    : length >= kHead.size() + kResult.size()       ? 2
                                                                                    : 0));
  }
  test::KeptEvents sink;
  const test::TraceFile empty(kHead, "t.json");
  const auto refused = import_nccl_tests_json({empty.path(), 1}, sink);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().why.find("results is empty or cut") != std::string::npos);
  const test::TraceFile cut(kHead + kResult, "t.json");
  const auto imported = import_nccl_tests_json({cut.path(), 1}, sink);
  REQUIRE(imported);
  CHECK(imported->coverage.reason.find("ends before the test did") != std::string::npos);
  for (const auto& [key, value] : imported->facts) CHECK(value.find("secret") == std::string::npos);
}

TEST_CASE("nccl-tests JSON: wrong types and broken results are counted") {
  const NcclTestsJson found =
      read_nccl_tests_json(kHead + R"({"size":"big"},{"size":-1},{"size":8,"out_of_place":[]},7,)" + kResult + kTail);
  CHECK(found.broken == 3);
  CHECK(found.run.rows.size() == 2);
  for (const char* text : {"", "{", "[", "{}", "[]", "{\"results\":7}", "{\"results\":{}}", "{\"a\" 1}", "nonsense"})
    CHECK(read_nccl_tests_json(text).run.rows.empty());
  CHECK(read_nccl_tests_json("{\"results\":[" + std::string(100000, '[')).run.rows.empty());
}

TEST_CASE("Inspector records: quantiles over the records of one operation, size and number of ranks") {
  std::string text;
  for (int us = 1; us <= 101; ++us) text += record(8192, us) + "\n";
  text += record(8192, 7, "AllReduce", 2) + "\n" + record(64, 5, "Broadcast") + "\n";
  Facts facts;
  const SeriesSet series = told(text, &facts);
  const Series& reduce = series.at("inspector.all_reduce");
  REQUIRE(reduce.rows.size() == 2);
  const auto& row = reduce.rows[1];  // ranks 2 before 8
  CHECK(std::get<std::int64_t>(row[3]) == 101);
  CHECK(std::get<double>(row[4]) == doctest::Approx(11));
  CHECK(std::get<double>(row[5]) == doctest::Approx(51));
  CHECK(std::get<double>(row[6]) == doctest::Approx(91));
  CHECK(std::get<double>(row[7]) == doctest::Approx(100));
  CHECK(std::get<double>(row[8]) == doctest::Approx(8192 / 51.0 / 1e3));
  CHECK(std::get<double>(row[9]) == doctest::Approx(8192 / 51.0 / 1e3 * 1.75));
  CHECK(std::get<std::string>(row[12]) == "job");
  CHECK(std::get<std::int64_t>(row[14]) == 8);
  CHECK(series.at("inspector.broadcast").rows.size() == 1);
  CHECK_FALSE(series.contains("sweep.all_reduce"));
  CHECK(facts.at("inspector.timing") == "kernel_gpu");
}

TEST_CASE("Inspector: records over several lines, of point-to-point, half ones and foreign ones") {
  const std::string p2p =
      R"({"header":{"n_ranks":2},"p2p_perf":{"p2p":"Send","p2p_msg_size_bytes":64,"p2p_exec_time_us":5}})";
  std::string spread = record(64, 5);
  for (std::size_t at = 0; (at = spread.find(',', at)) != std::string::npos; at += 2) spread.replace(at, 1, ",\n");
  InspectorRecords records;
  records.add(spread + "\n" + p2p + R"({"header":{"rank":2,)" + "\n" + record(64, 6) + "\n" + R"({"other": 1})" + "\n" +
                  record(64, -3) + "\n" + "text\n" + record(64, 7),
              InspectorRecords::More::none);
  CHECK(records.records() == 4);
  CHECK(records.broken() == 4);
  SeriesSet series;
  Facts facts;
  records.report("f", series, facts);
  CHECK(series.contains("inspector.send"));
  CHECK(std::get<std::int64_t>(series.at("inspector.all_reduce").rows[0][3]) == 3);
}

TEST_CASE("Inspector: bytes that arrive in pieces, and brackets without end") {
  const std::string text = record(64, 5) + "\n" + record(64, 6) + "\n";
  for (std::size_t cut = 0; cut < text.size(); cut += 13) {
    InspectorRecords records;
    const std::size_t used = records.add(text.substr(0, cut), InspectorRecords::More::may_come);
    CHECK(used <= cut);
    records.add(text.substr(used), InspectorRecords::More::none);
    CHECK(records.records() == 2);
    CHECK(records.broken() == 0);
  }
  std::string nested;
  for (int i = 0; i < 200000; ++i) nested += "{\"a\":[\n";
  const test::TraceFile file(record(8, 1) + "\n" + nested + "}\n" + record(8, 2) + "\n", "i.jsonl");
  test::KeptEvents sink;
  const auto imported = import_nccl_inspector({file.path(), 1}, sink);
  REQUIRE(imported);
  CHECK(std::get<std::int64_t>(imported->series.at("inspector.all_reduce").rows[0][3]) == 2);
  CHECK(imported->coverage.state == CoverageState::partial);
  const test::TraceFile none(R"({"header":{},"coll_perf":{"coll":1}})", "i.jsonl");
  const auto refused = import_nccl_inspector({none.path(), 1}, sink);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().why.find("none of its records") != std::string::npos);
}

TEST_CASE("both are known by their content") {
  struct Case {
    std::string text;
    std::string_view kind;
  };
  for (const Case& c :
       {Case{kHead + kResult + kTail, "nccl-tests JSON"}, Case{test::gzip(kHead), "nccl-tests JSON"},
        Case{record(8, 1) + "\n", "NCCL Inspector records"},
        Case{record(8, 1).substr(0, 150), "NCCL Inspector records"}, Case{R"({"coll_perf": 1})", ""},
        Case{R"({"nccl_version": 2})", ""},
        Case{R"({"traceEvents": [{"name": "coll_perf", "ph": "X", "args": {"header": 1}}]})", "profiler trace"}}) {
    CAPTURE(c.text.substr(0, 60));
    const test::TraceFile file(c.text, "x");
    const auto found = recognise(file.path());
    REQUIRE(found);
    CHECK((found->kind == FileKind::importable ? found->format->name : std::string_view{}) == c.kind);
  }
}

}  // namespace gradsync
