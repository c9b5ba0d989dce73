// What is said about cliffs in real logs of nccl-tests.
#include <doctest/doctest.h>

#include "src/commands/examine.h"
#include "src/commands/foreign_files.h"
#include "src/diagnosis/rule_set.h"
#include "tests/unit/import/trace_files.h"

namespace gradsync {
namespace {

namespace fs = std::filesystem;

std::optional<Report> report_of(const fs::path& file) {
  auto rules = builtin_rules();
  REQUIRE(rules);
  auto job = read_foreign_files({file}, rules->ranges, 1);
  if (!job) return std::nullopt;  // refused with a reason: the importer's own tests read it
  return conclude(job->ranks, job->inputs, *rules, {});
}

std::string fact(const Report& report, const std::string& key) {
  const auto found = report.facts.find(key);
  return found == report.facts.end() ? "" : found->second;
}

}  // namespace

TEST_CASE("real logs: none proves a cliff; the unstable one is unstable, the falling one suspected, others undecided") {
  if (!test::corpus()) {
    MESSAGE("skipped: GSD_CORPUS names no folder");
    return;
  }
  int analysed = 0;
  for (const auto& entry : fs::directory_iterator(*test::corpus() / "nccl-tests")) {
    const std::string name = entry.path().filename().string();
    CAPTURE(name);
    const auto report = report_of(entry.path());
    if (!report) continue;
    ++analysed;
    const std::string answer = fact(*report, "sweep.cliff");
    if (name == "deepops-roce-1.log") {
      CHECK(answer == "unstable");
      CHECK(fact(*report, "sweep.cliff.where") == "all_reduce of 8 B … 64 KiB");
    } else if (name ==
               "xxrjun-20-nccl_N2_G8.log") {  // all-to-all loses a third of its bandwidth at 16 GiB in both places
      CHECK(answer == "suspected");
      CHECK(fact(*report, "sweep.cliff.where") == "all_to_all of 8 GiB … 16 GiB");
    } else if (report->series.contains("sweep.unknown") && report->series.size() == 2) {
      CHECK(answer.empty());  // an operation that nobody could name
    } else {
      CHECK(answer == "undecided");
    }
  }
  CHECK(analysed >= 30);
}

}  // namespace gradsync
