// What is said about cliffs in real logs of nccl-tests.
#include <doctest/doctest.h>

#include "tests/unit/commands/analyzed_log.h"
#include "tests/unit/import/trace_files.h"

namespace gradsync {
namespace {

namespace fs = std::filesystem;

using test::fact;
using test::report_of;

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
