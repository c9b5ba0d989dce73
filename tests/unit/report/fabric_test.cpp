// A sweep in the terminal: the same picture whether it was measured just now or read from a file.
#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "src/report/csv.h"
#include "src/report/json.h"
#include "src/report/terminal.h"
#include "tests/unit/report/examples.h"
#include "tests/unit/report/golden.h"

namespace gradsync {
namespace {

// Nothing from the line that begins with `first` to the end.
std::string from_line(const std::string& text, const std::string& first) {
  const std::size_t at = ("\n" + text).find("\n" + first);
  return at == std::string::npos ? "" : text.substr(at);
}

std::string line_with(const std::string& text, const std::string& words) {
  const std::size_t at = text.find(words);
  if (at == std::string::npos) return "";
  const std::size_t begin = text.rfind('\n', at) + 1;
  return text.substr(begin, text.find('\n', at) - begin);
}

}  // namespace

TEST_CASE("table, curve, fit and answer of a sweep; wide, and narrow in ASCII") {
  const Report report = sweep_report();
  const std::string normal = render_terminal(report, {.width = 80});
  CHECK(normal == golden("sweep.txt", normal));
  const std::string narrow = render_terminal(report, {.width = 40, .charset = Charset::ascii});
  CHECK(narrow == golden("sweep_narrow_ascii.txt", narrow));
}

TEST_CASE("a sweep that was saved is drawn as it was when it was measured") {
  const Report report = sweep_report();
  const Result<Report> read = report_from_json(report_to_json(report), "s.json");
  REQUIRE(read);
  CHECK(render_terminal(*read, {.width = 80}) == render_terminal(report, {.width = 80}));
}

TEST_CASE("each answer about cliffs is one honest sentence") {
  struct Case {
    const char* answer;
    double drop, p;
    const char* says;
  };
  constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
  for (const auto& [answer, drop, p, says] :
       {Case{"cliff", 41, 0.00012, "severe cliff at 32 KiB … 64 KiB: bandwidth drops by 41 %"},
        Case{"no cliff", 10, kNone, "no cliff ≥ 10 % (seen with power ≥ 0.9)"},
        Case{"undecided", kNone, kNone,
             "undecided at 32 KiB … 64 KiB: the repeats so far neither prove a cliff nor exclude"},
        Case{"suspected", 30, kNone, "suspected at 32 KiB … 64 KiB: bandwidth drops by 30 %"},
        Case{"unstable", kNone, kNone, "unstable at 32 KiB … 64 KiB: the same call takes very different times"},
        Case{"cache-capacity", 22, 0.001, "cache capacity at 32 KiB … 64 KiB: bandwidth drops by 22 %"}}) {
    const std::string label = answer;
    CAPTURE(label);
    Report report = sweep_report();
    report.series["fabric_cliffs"].rows = {{"all_reduce", "float", "", answer, std::int64_t{32768}, std::int64_t{65536},
                                            drop, kNone, kNone, p, std::int64_t{10}, label == "cliff" ? "severe" : "",
                                            ""}};
    CHECK(render_terminal(report, {.width = 160}).find(says) != std::string::npos);
  }
}

TEST_CASE("what was not measured is a dash, and a column that nobody measured is not there") {
  Report report = sweep_report();
  Series& series = report.series["sweep.all_reduce"];
  for (auto& row : series.rows) row[7] = std::numeric_limits<double>::quiet_NaN();
  series.rows[1][10] = std::numeric_limits<double>::quiet_NaN();
  const std::string text = render_terminal(report, {.width = 100});
  CHECK(text.find("p99") == std::string::npos);
  CHECK(line_with(text, " 4096 ").ends_with(" -"));
}

TEST_CASE("words of a foreign log cannot move the cursor") {
  Report report = sweep_report();
  for (auto& row : report.series["sweep.all_reduce"].rows) row[12] = "log\x1b[2J";
  CHECK(render_terminal(report, {.width = 80}).find('\x1b') == std::string::npos);
}

TEST_CASE("many sweeps: the first are drawn, the others counted") {
  Report report = sweep_report();
  Series& series = report.series["sweep.all_reduce"];
  const std::vector<std::vector<Cell>> one = series.rows;
  for (int file = 0; file < 8; ++file)
    for (std::vector<Cell> row : one) {
      row[12] = "log" + std::to_string(file);
      series.rows.push_back(row);
    }
  CHECK(render_terminal(report, {.width = 80}).find("and 3 sweeps more: -v draws them") != std::string::npos);
}

TEST_CASE("break-even and the job's place on the curve are tables of their columns") {
  Report report = sweep_report();
  report.series["break_even"] = {"break_even",
                                 {"algorithm", "against", "from_ranks", "from_bytes"},
                                 {{"topk_select", "float", std::int64_t{33}, std::int64_t{1048576}},
                                  {"cast16", "float", std::int64_t{2}, std::nan("")}}};
  CHECK(from_line(render_terminal(report, {.width = 80}), "BREAK-EVEN")
            .starts_with(R"(BREAK-EVEN AGAINST DENSE ALL-REDUCE HERE
 algorithm    against  from ranks  from
 topk_select  float    33          1 MiB
 cast16       float    2           -
)"));
}

TEST_CASE("the job's place on the curve is said in a sentence, with the bucket that would help") {
  Report report = sweep_report();
  report.series["job_on_fabric"] = {"job_on_fabric",
                                    {"operation", "bytes", "count_per_step", "startup_share_percent"},
                                    {{"all_reduce", std::int64_t{65536}, 10.0, 54.7}}};
  report.metrics.push_back({.name = "overlay.startup_messages_percent", .value = 90.9, .n = 2});
  report.metrics.push_back({.name = "overlay.time_ms", .value = 1.3, .n = 2});
  report.facts["advice.bucket_cap_mb"] = "64";
  CHECK(from_line(render_terminal(report, {.width = 80}), "THE JOB").starts_with(R"(THE JOB ON THIS CURVE
 operation   bytes   count per step  startup share
 all_reduce  64 KiB  10              54.7 %
 90.9 % of its messages are mostly start-up; 1.3 ms per step is what they cost
   here
 Buckets that leave the start-up behind: bucket_cap_mb=64
)"));
  CHECK(render_terminal(report, {.width = 80}).find("overlay.") == std::string::npos);
}

TEST_CASE("CSV: one table of all operations, quoted where it must be, unknown cells empty") {
  Report report;
  report.series["sweep.all_reduce"] = {
      "sweep.all_reduce", {"bytes", "type", "p50_us", "wrong"}, {{std::int64_t{1024}, "float", 12.5, std::nan("")}}};
  report.series["sweep.broadcast"] = {"sweep.broadcast",
                                      {"bytes", "type", "p50_us", "wrong"},
                                      {{std::int64_t{8}, "a \"b\", c", 1e-3, std::int64_t{0}}}};
  report.series["sweep_samples.all_reduce"] = {"sweep_samples.all_reduce", {"bytes"}, {{std::int64_t{1}}}};
  CHECK(sweep_to_csv(report.series) ==
        "operation,bytes,type,p50_us,wrong\r\n"
        "all_reduce,1024,float,12.5,\r\n"
        "broadcast,8,\"a \"\"b\"\", c\",0.001,0\r\n");
  CHECK(sweep_to_csv({}) == "");
}

}  // namespace gradsync
