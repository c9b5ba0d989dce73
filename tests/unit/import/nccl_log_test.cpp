#include "collectors/import/nccl_log.h"

#include <doctest/doctest.h>

#include <cmath>

#include "collectors/import/recognise.h"
#include "tests/unit/import/trace_files.h"

namespace gradsync {
namespace {

const std::string kHeader =
    "#                                                              out-of-place                       in-place\n"
    "#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw "
    "#wrong\n"
    "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)\n";
const std::string kStart =
    "# nccl-tests version 2.17.6 nccl-headers=22807 nccl-library=22807\n"
    "# Collective test starting: all_reduce_perf\n"
    "# nThread 1 nGpus 1 minBytes 8 maxBytes 16 step: 2(factor) warmup iters: 5 iters: 20 agg iters: 1 validation: 1 "
    "graph: 0\n"
    "#\n# Using devices\n"
    "#  Rank  0 Group  0 Pid   10 on    alpha device  0 [0000:1b:00] NVIDIA H100 80GB HBM3\n"
    "#  Rank  1 Group  0 Pid   20 on     beta device  0 [0000:1b:00] NVIDIA H100 80GB HBM3\n#\n";
const std::string kRows =
    "           8             2     float     sum      -1    12.00    0.01    0.02      0    13.00    0.01    0.02    "
    "N/A\n"
    "          16             4     float     sum      -1    12.50    0.02    0.03      2    12.75    0.02    0.03     "
    " 0\n";
const std::string kEnd = "# Out of bounds values : 2 FAILED\n# Avg bus bandwidth    : 0.025\n#\n";

Result<Imported> import(const std::string& text, const std::string& name = "some.log") {
  const test::TraceFile file(text, name);
  test::KeptEvents sink;
  Result<Imported> imported = import_nccl_log({file.path(), 1}, sink);
  CHECK(sink.processes.empty());
  return imported;
}

double number(const Imported& imported, const std::string& series, std::size_t row, const std::string& column) {
  const Series& table = imported.series.at(series);
  for (std::size_t i = 0; i < table.columns.size(); ++i) {
    if (table.columns[i] != column) continue;
    const Cell& cell = table.rows.at(row).at(i);
    if (const auto* whole = std::get_if<std::int64_t>(&cell)) return static_cast<double>(*whole);
    return std::get<double>(cell);
  }
  FAIL("no column " << column);
  return 0;
}

std::string word(const Imported& imported, const std::string& series, std::size_t row, std::size_t column) {
  return std::get<std::string>(imported.series.at(series).rows.at(row).at(column));
}

}  // namespace

TEST_CASE("a run: sizes, times, bandwidths, wrong results, ranks and nodes") {
  const auto imported = import(kStart + kHeader + kRows + kEnd, "a.log");
  REQUIRE(imported);
  CHECK(imported->processes == 0);
  CHECK(imported->coverage.state == CoverageState::collected);
  REQUIRE(imported->series.at("sweep.all_reduce").rows.size() == 4);
  CHECK(number(*imported, "sweep.all_reduce", 0, "bytes") == 8);
  CHECK(number(*imported, "sweep.all_reduce", 0, "n") == 20);
  CHECK(number(*imported, "sweep.all_reduce", 1, "p50_us") == doctest::Approx(13));
  CHECK(std::isnan(number(*imported, "sweep.all_reduce", 1, "p10_us")));
  CHECK(std::isnan(number(*imported, "sweep.all_reduce", 1, "startup_share_percent")));
  CHECK(std::isnan(number(*imported, "sweep.all_reduce", 1, "wrong")));
  CHECK(number(*imported, "sweep.all_reduce", 2, "wrong") == 2);
  CHECK(word(*imported, "sweep.all_reduce", 2, 12) == "out");
  CHECK(word(*imported, "sweep.all_reduce", 3, 12) == "in");
  CHECK(word(*imported, "sweep.all_reduce", 3, 13) == "a.log");
  CHECK(number(*imported, "sweep.all_reduce", 3, "ranks") == 2);
  CHECK(number(*imported, "sweep_runs", 0, "nodes") == 2);
  CHECK(number(*imported, "sweep_runs", 0, "out_of_bounds") == 2);
  CHECK(number(*imported, "sweep_runs", 0, "average_busbw_gbytes_per_s") == doctest::Approx(0.025));
  CHECK(word(*imported, "sweep_runs", 0, 1) == "printed");
  CHECK(imported->facts.at("nccl.version") == "2.28.7");
  CHECK(imported->facts.at("nccl.ranks") == "2");
  CHECK(imported->facts.at("nccl.gpu") == "NVIDIA H100 80GB HBM3");
}

TEST_CASE("rows that NCCL's own lines interrupt are put together") {
  const std::string log =
      kStart + kHeader +
      "           8             2     float     sum      -1alpha:10:10 [1] NCCL INFO AllReduce: opCount 0 sendbuff "
      "0x7\n"
      "alpha:10:10 [0] NCCL INFO AllReduce: 8 Bytes -> Algo RING proto LL channel{Lo..Hi}={0..1}\n"
      "    12.00    0.01    0.02      0alpha:10:10 [1] NCCL INFO AllReduce: opCount 1 sendbuff 0x7\n"
      "alpha:10:10 [0] NCCL INFO AllReduce: 8 Bytes -> Algo RING proto LL channel{Lo..Hi}={0..1}\n"
      "    13.00    0.01    0.03      0\n" +
      kEnd;
  const auto imported = import(log);
  REQUIRE(imported);
  REQUIRE(imported->series.at("sweep.all_reduce").rows.size() == 2);
  CHECK(number(*imported, "sweep.all_reduce", 0, "p50_us") == doctest::Approx(12));
  CHECK(number(*imported, "sweep.all_reduce", 0, "wrong") == 0);
  CHECK(number(*imported, "sweep.all_reduce", 1, "busbw_gbytes_per_s") == doctest::Approx(0.03));
  CHECK(number(*imported, "nccl_choices", 0, "count") == 2);
  CHECK(imported->coverage.lost == 0);
}

TEST_CASE("several runs in one file stay apart; a command line belongs to the run behind it") {
  const std::string old =
      "#  size  count  type  redop  root  time  algbw  busbw  #wrong  time  algbw  busbw  #wrong\n#  (B)  (us)\n"
      "  8  2  float  none  -1  12.0  0.0  0.0  0  13.0  0.0  0.0  0\n# Avg bus bandwidth : 0\n";
  const auto imported = import(kStart + kHeader + kRows + kEnd + "+ mpirun /b/all_gather_perf -b 8\n" + old +
                                   "+ mpirun /b/alltoall_perf -b 8\n" + old + old,
                               "three.log");
  REQUIRE(imported);
  CHECK(imported->series.at("sweep.all_reduce").rows.size() == 4);
  CHECK(imported->series.at("sweep.all_gather").rows.size() == 2);
  CHECK(imported->series.at("sweep.all_to_all").rows.size() == 2);
  CHECK(imported->series.at("sweep.unknown").rows.size() == 2);
  CHECK(word(*imported, "sweep.all_to_all", 0, 13) == "three.log run 3");
  CHECK(word(*imported, "sweep_runs", 1, 1) == "command line in the log");
  CHECK(imported->coverage.reason.find("operation is not printed") != std::string::npos);
}

TEST_CASE("older layouts: an error instead of a count, and milliseconds without a unit") {
  const std::string table =
      "#  size  count  type  redop  time  algbw  busbw  error  time  algbw  busbw  error\n#  (B)  (us)\n"
      " 1048576  262144  float  sum  135.3  7.75  15.02  7e-07  132.7  7.90  15.31  7e-07\n";
  const auto right = import(table + "# Out of bounds values : 0 OK\n");
  REQUIRE(right);
  CHECK(number(*right, "sweep.all_reduce", 0, "wrong") == 0);
  const auto wrong = import(table + "# Out of bounds values : 3 FAILED\n");
  REQUIRE(wrong);
  CHECK(std::isnan(number(*wrong, "sweep.all_reduce", 0, "wrong")));
  CHECK(number(*wrong, "sweep_runs", 0, "out_of_bounds") == 3);

  const auto first = import(
      "$ ./build/test/single/all_reduce_test 10000000\n# Using devices\n#   Device  0 ->  0 [0x0a] GeForce GTX\n"
      "#      bytes             N    type      op     time  algbw  busbw      res     time  algbw  busbw      res\n"
      "    10000000      10000000    char     sum    1.628   6.14   9.21    0e+00    1.932   5.18   7.77    0e+00\n");
  REQUIRE(first);
  CHECK(number(*first, "sweep.all_reduce", 0, "p50_us") == doctest::Approx(1628));
  CHECK(number(*first, "sweep.all_reduce", 0, "n") == 1);
}

TEST_CASE("a check that was not made leaves no zero behind") {
  const auto imported = import(
      "# nThread 1 nGpus 8 minBytes 1 maxBytes 8 step: 2(factor) warmup iters: 5 iters: 20 validation: 0\n"
      "#  size  count  type  redop  time  algbw  busbw  error  time  algbw  busbw  error\n#  (B)  (us)\n"
      " 1048576  262144  float  sum  135.3  7.75  15.02  N/A  132.7  7.90  15.31  N/A\n# Out of bounds values : 0 "
      "OK\n");
  REQUIRE(imported);
  CHECK(std::isnan(number(*imported, "sweep.all_reduce", 0, "wrong")));
  CHECK(std::isnan(number(*imported, "sweep_runs", 0, "out_of_bounds")));
}

TEST_CASE("a run that ended before its first row is told") {
  const auto imported = import(kStart + kHeader + kRows + kEnd + kStart);
  REQUIRE(imported);
  CHECK(imported->series.at("sweep_runs").rows.size() == 1);
  CHECK(imported->coverage.state == CoverageState::partial);
  CHECK(imported->coverage.reason == "1 more runs ended before the first row of their tables");
}

TEST_CASE("cut logs keep what is whole and say what is not") {
  const std::string whole = kStart + kHeader + kRows + kEnd;
  for (std::size_t length = kStart.size() + 1; length < whole.size(); length += 7) {
    CAPTURE(length);
    const auto imported = import(whole.substr(0, length));
    if (!imported) {
      CHECK(imported.error().why.find("before the first row") != std::string::npos);
      continue;
    }
    const std::size_t rows = imported->series.at("sweep.all_reduce").rows.size();
    CHECK(rows >= 1);
    CHECK(rows <= 4);
    if (rows < 4) CHECK(imported->coverage.state == CoverageState::partial);
  }
}

TEST_CASE("tables without numbers, empty and hostile logs") {
  const auto masked = import(kHeader + "  8  2  float  none  -1  XXXX  X.XX  X.XX  N/A  XXXX  X.XX  X.XX  0\n");
  REQUIRE_FALSE(masked);
  CHECK(masked.error().why.find("hold no numbers") != std::string::npos);
  const auto nothing = import(kStart);
  REQUIRE_FALSE(nothing);
  CHECK(nothing.error().what == "holds no measurement");
  CHECK_FALSE(import(kHeader + std::string(200000, '8') + "\n" + std::string(100000, '\0')));
  test::KeptEvents sink;
  CHECK_FALSE(import_nccl_log({"/no/such.log", 1}, sink));
  std::string many = kHeader;
  for (int i = 0; i < 60000; ++i) many += "8 2 float sum -1 1 1 1 0 1 1 1 0\n";
  const auto bounded = import(many);
  REQUIRE(bounded);
  CHECK(bounded->coverage.lost == 10000);
}

TEST_CASE("logs are found behind other output, and prose about NCCL is no log") {
  std::string noise;
  for (int i = 0; i < 4000; ++i) noise += "slurmstepd: info: step " + std::to_string(i) + " of a long prologue\n";
  struct Case {
    std::string text;
    std::string_view kind;  // empty: none
  };
  for (const Case& c : {Case{kStart + kHeader + kRows, "nccl-tests log"}, Case{noise + kHeader, "nccl-tests log"},
                        Case{kStart, "nccl-tests log"}, Case{test::gzip(noise + kHeader + kRows), "nccl-tests log"},
                        Case{noise + "alpha:1:2 [0] NCCL INFO Using network IB\n", "NCCL debug log"},
                        Case{"[1,3]<stderr>:alpha:1:2 [0] NCCL INFO Channel 00\n", "NCCL debug log"},
                        Case{"[2026-01-02 10:00:00] alpha:1:2 [0] NCCL INFO Channel 00\n", "NCCL debug log"},
                        Case{"w-0 | a:1:2 [0] NCCL INFO x\nw-1 | b:1:2 [0] NCCL INFO x\nw-0 | a:1:2 [0] NCCL INFO y\n",
                             "NCCL debug log"},
                        Case{"It said `a:1:2 [0] NCCL INFO Using network Socket`, so it is slow.\n", ""},
                        Case{"Set NCCL_DEBUG=INFO, then look for NCCL INFO Using network Socket.\n", ""},
                        Case{"all_reduce_perf prints size, count, type, time, algbw and busbw.\n", ""},
                        Case{"NCCL version 2.19.3\nepoch 1 loss 2.0\n", ""}}) {
    CAPTURE(c.text.substr(0, 80));
    const test::TraceFile file(c.text, "x.bin");
    const auto found = recognise(file.path());
    REQUIRE(found);
    CHECK((found->kind == FileKind::importable ? found->format->name : std::string_view{}) == c.kind);
  }
}

}  // namespace gradsync
