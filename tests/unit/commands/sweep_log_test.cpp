// A log of nccl-tests with a planted drop, from the file to the finding.
#include <doctest/doctest.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cmath>
#include <fstream>

#include "tests/unit/commands/analyzed_log.h"

namespace gradsync {
namespace {

namespace fs = std::filesystem;

using test::fact;
using test::report_of;

// Columns of nccl-tests 2.10 and later. The noise is that of a fixed sequence.
fs::path planted_log(const fs::path& folder) {
  fs::path file = folder / "all_reduce_perf.log";
  std::ofstream out(file);
  out << "# nThread 1 nGpus 1 minBytes 8 maxBytes 67108864 step: 2(factor) warmup iters: 5 iters: 20\n"
         "#                                                              out-of-place                       in-place\n"
         "#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   "
         "busbw "
         "#wrong\n"
         "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  "
         "(GB/s)\n";
  int call = 0;
  for (std::int64_t bytes = 8; bytes <= 64 << 20; bytes *= 2) {
    out << fmt::format("{:>12} {:>13}     float     sum      -1", bytes, bytes / 4);
    for (int place = 0; place < 2; ++place) {
      const double noise = 1 + 0.03 * std::sin(12.9898 * ++call), size = static_cast<double>(bytes);
      const double us = noise * (bytes == 65536 || bytes == 131072 ? 60 + size / 4e3 : 18 + size / 9e3);
      out << fmt::format(" {:>8.2f} {:>7.2f} {:>7.2f}      0", us, size / us * 1e-3, size / us * 1e-3);
    }
    out << "\n";
  }
  out << "# Out of bounds values : 0 OK\n# Avg bus bandwidth    : 2.9\n";
  return file;
}

}  // namespace

TEST_CASE("a log with a planted drop is suspected, where it was planted, with the command that would prove it") {
  const fs::path folder = fs::temp_directory_path() / fmt::format("gsd_sweep_corpus.{}", ::getpid());
  fs::create_directories(folder);
  const auto report = report_of(planted_log(folder));
  fs::remove_all(folder);
  REQUIRE(report);
  CHECK(fact(*report, "sweep.cliff") == "suspected");
  CHECK(fact(*report, "sweep.cliff.where") == "all_reduce of 32 KiB … 64 KiB");
  CHECK(fact(*report, "sweep.prove").starts_with("gradsync-doctor sweep --op all_reduce --min 8K --max "));
  std::vector<std::string> fired;
  for (const Finding& finding : report->findings)
    if (finding.state == FindingState::fired && finding.step == 2) fired.push_back(finding.rule);
  CHECK(fired == std::vector<std::string>{"suspected-cliff"});
}

}  // namespace gradsync
