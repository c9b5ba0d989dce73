// Exports that are cut, damaged, or made to mislead: what is complete is there, what is not is counted with its
// reason, nothing ends the program.
#include <doctest/doctest.h>

#include <algorithm>
#include <random>

#include "collectors/import/nsys_format.h"
#include "tests/unit/import/nsys_files.h"

namespace gradsync {
namespace {

using test::import_sql;

std::string kernel(int i) {
  return "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (" + std::to_string(100 * i) + ", " +
         std::to_string(100 * i + 50) + ", 0, 7, " + std::to_string(i) + ", " + test::process(7) + ", 1, 1, 1);";
}

std::string job(int kernels) {
  std::string sql = test::nsys_tables() + test::nsys_strings({"1 gemm", "2 cudaLaunchKernel"}) + "BEGIN;";
  for (int i = 0; i < kernels; ++i)
    sql += kernel(i) + "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (" + std::to_string(100 * i) + ", " +
           std::to_string(100 * i + 9) + ", 1, " + test::thread(7, 9) + ", " + std::to_string(i) + ", 2, 0);" +
           "INSERT INTO NVTX_EVENTS VALUES (" + std::to_string(100 * i) + ", " + std::to_string(100 * i + 70) +
           ", 59, NULL, 'iteration', " + test::thread(7, 9) + ", NULL, 0, NULL, NULL, NULL, NULL);";
  return sql + "COMMIT;";
}

test::ImportedExport import_bytes(const std::string& bytes) {
  const test::TraceFile file(bytes, "report.sqlite");
  return test::import_export(file.path());
}

std::size_t kernels_of(const test::ImportedExport& got) {
  std::size_t count = 0;
  for (const test::KeptEvents& rank : got.sink.ranks) count += rank.of(Kind::kernel).size();
  return count;
}

// One kernel table of bad rows beside a good one.
test::ImportedExport with_rows(const std::string& rows) {
  return import_sql(job(1) + "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES " + rows + ";");
}

std::string pid() { return test::process(7); }

}  // namespace

TEST_CASE("rows with a time that cannot be are lost, and counted") {
  const std::string tail = ", 0, 7, 9, " + pid() + ", 1, 1, 1)";
  struct Case {
    std::string rows;
    std::int64_t lost;
  };
  for (const Case& c :
       {Case{"(NULL, 5" + tail, 1}, Case{"('soon', 5" + tail, 1}, Case{"(5, 'later'" + tail, 1},
        Case{"(5, NULL" + tail, 1}, Case{"(-5, 5" + tail, 1}, Case{"(9, 8" + tail, 1}, Case{"(1.5, 8" + tail, 1},
        Case{"(x'00', 8" + tail, 1}, Case{"(NULL, NULL" + tail + ", (1, 0" + tail, 2}, Case{"(7, 7" + tail, 0}}) {
    CAPTURE(c.rows);
    const auto got = with_rows(c.rows);
    REQUIRE(got.result);
    CHECK(got.result->coverage.lost == c.lost);
    CHECK(kernels_of(got) == (c.lost == 0 ? 2 : 1));
    if (c.lost == 0) continue;
    CHECK(got.result->coverage.reason.find("CUPTI_ACTIVITY_KIND_KERNEL: " + std::to_string(c.lost) +
                                           (c.lost == 1 ? " row" : " rows") + " without a valid time") == 0);
    REQUIRE(got.sink.ranks[0].of(Kind::loss).size() == 1);
    CHECK(got.sink.ranks[0].of(Kind::loss)[0].bytes == c.lost);
  }
}

TEST_CASE("rows without a device are nobody's; without a process they belong to the only one") {
  const auto no_device = with_rows("(10, 20, NULL, 7, 9, " + pid() + ", 1, 1, 1)");
  CHECK(no_device.result->coverage.reason.find("1 row without a process or device") != std::string::npos);
  CHECK(kernels_of(with_rows("(10, 20, 0, 7, 9, NULL, 1, 1, 1)")) == 2);
}

TEST_CASE("numbers at the end of their range, streams and names of the wrong type") {
  const auto got = with_rows("(0, 9223372036854775807, 0, -7, -1, " + pid() +
                             ", NULL, 'short', NULL), (1, 2, 0, 9223372036854775807, 'x', " + pid() +
                             ", NULL, NULL, NULL), (3, 4, 0, NULL, NULL, " + pid() + ", x'ff00', NULL, NULL)");
  REQUIRE(got.result);
  const test::KeptEvents& rank = got.sink.ranks.at(0);
  std::vector<std::string> names;
  for (const Event& event : rank.of(Kind::kernel)) {
    names.push_back(rank.name(event.name));
    CHECK(event.on_stream());
  }
  CHECK(names == std::vector<std::string>{"gemm", "short", "", "??"});
}

TEST_CASE("ranges with wrong types, without thread or text") {
  const std::string who = test::thread(7, 9);
  const auto got =
      import_sql(job(1) + "INSERT INTO NVTX_EVENTS VALUES ('a', 5, 59, NULL, 'bad', " + who +
                 ", NULL, 0, NULL, NULL, NULL, NULL), (6, 5, 59, NULL, 'bad', " + who +
                 ", NULL, 0, NULL, NULL, NULL, NULL), (5, 6, 59, NULL, NULL, " + who +
                 ", 77, 0, NULL, NULL, NULL, NULL), (5, 6, 59, NULL, 'whose', NULL, NULL, 0, NULL, NULL, NULL, NULL),"
                 "(5, 6, 'kind', NULL, 'of no kind', " +
                 who + ", NULL, 0, NULL, NULL, NULL, NULL);");
  REQUIRE(got.result);
  CHECK(got.result->coverage.lost == 3);
  CHECK(got.result->coverage.reason.find(
            "NVTX_EVENTS: 1 row without a text; NVTX_EVENTS: 2 rows without a valid time") != std::string::npos);
  CHECK(got.sink.ranks.at(0).of(Kind::range).size() == 2);  // 'whose' is the only process's
}

TEST_CASE("a name of 20 MB is skipped, a long one is shortened, one that is not UTF-8 is made so") {
  const std::string who = test::thread(7, 9);
  const auto range = [&](const std::string& text) {
    return "INSERT INTO NVTX_EVENTS VALUES (5, 6, 59, NULL, " + text + ", " + who +
           ", NULL, 0, NULL, NULL, NULL, NULL);";
  };
  const auto got = import_sql(job(1) + range("CAST(zeroblob(20000000) AS TEXT)") +
                              range("'" + std::string(100'000, 'n') + "'") + range("CAST(x'636166e9' AS TEXT)"));
  REQUIRE(got.result);
  CHECK(got.result->coverage.reason.find("NVTX_EVENTS: 1 row of more than 16 MB") != std::string::npos);
  const auto ranges = got.sink.ranks.at(0).of(Kind::range);
  REQUIRE(ranges.size() == 3);
  CHECK(got.sink.ranks[0].name(ranges[1].name) == std::string(4096, 'n'));
  CHECK(got.sink.ranks[0].name(ranges[2].name) == "caf?");
}

TEST_CASE("no SQL of the file is run: a view, a virtual table and a generated column are not there") {
  const auto view = import_sql(
      "CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT); CREATE TABLE t (a INTEGER);"
      "CREATE VIEW CUPTI_ACTIVITY_KIND_KERNEL AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i FROM n)"
      " SELECT i AS start, i AS end, 0 AS deviceId FROM n;");
  REQUIRE_FALSE(view.result);
  CHECK(view.result.error().why == "it holds neither GPU kernels nor NVTX ranges");
  const auto generated = import_sql(
      "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER, end INTEGER, deviceId INTEGER,"
      " streamId INTEGER AS (length(zeroblob(1000000000))));"
      "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (1, 2, 0);");
  REQUIRE(generated.result);
  CHECK(generated.sink.ranks.at(0).lines().front() == "kernel  1..2 lane=s0");
}

TEST_CASE("tables without rowid") {
  const auto got = import_sql(
      "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER, end INTEGER, deviceId INTEGER, PRIMARY KEY (start))"
      " WITHOUT ROWID; INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (1, 2, 0), (3, 4, 0);");
  REQUIRE(got.result);
  CHECK(kernels_of(got) == 2);
}

TEST_CASE("what holds nothing that can be used says so") {
  struct Case {
    std::string sql, why;
  };
  for (const Case& c : {Case{"CREATE TABLE t (a);", "it is an SQLite database without the tables of Nsight Systems"},
                        Case{test::nsys_tables(), "it holds neither GPU kernels nor NVTX ranges"},
                        Case{test::nsys_tables() + test::nsys_strings({"2 cudaMalloc"}) +
                                 "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (1, 2, 1, 5, 1, 2, 0);",
                             "it holds neither GPU kernels nor NVTX ranges"}}) {
    const auto got = import_sql(c.sql);
    REQUIRE_FALSE(got.result);
    CHECK(got.result.error().why == c.why);
    CHECK_FALSE(got.result.error().hint.empty());
    CHECK(got.sink.ranks.empty());
  }
  CHECK(import_bytes("SQLite format 3").result.error().why == "it is not an SQLite database");
  CHECK(import_bytes(std::string("SQLite format 3\0\x10", 17)).result.error().why == "it ends in its first page");
  CHECK(import_bytes(test::gzip("SQLite format 3")).result.error().why == "it is compressed");
  CHECK(test::import_export("/nowhere/x.sqlite").result.error().message() ==
        "cannot open /nowhere/x.sqlite: No such file or directory");
}

TEST_CASE("more pairs of process and device than are read") {
  std::string sql = test::nsys_tables() + "BEGIN;";
  for (int i = 0; i < 200; ++i)
    sql += "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (1, 2, " + std::to_string(i) + ", 7, 1, " + pid() +
           ", NULL, NULL, NULL);";
  const auto got = import_sql(sql + "COMMIT;");
  REQUIRE(got.result);
  CHECK(got.sink.ranks.size() == 64);
  CHECK(got.result->coverage.reason.find("136 rows of further ranks") != std::string::npos);
}

TEST_CASE("nothing is written beside the file") {
  const test::NsysFile file(job(5), "a%20b?c#d.sqlite");
  const auto got = test::import_export(file.path());
  REQUIRE(got.result);
  CHECK(kernels_of(got) == 5);
  std::size_t files = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(file.path().parent_path())) ++files;
  CHECK(files == 1);
}

TEST_CASE("cut at 40 random bytes: the beginning is there, and the coverage says that it is one") {
  const std::string whole = test::NsysFile(job(3000)).bytes();
  std::mt19937 random(30);
  std::size_t most = 0;
  for (int i = 0; i < 40; ++i) {
    const std::size_t length = std::uniform_int_distribution<std::size_t>(0, whole.size() - 1)(random);
    CAPTURE(length);
    const auto got = import_bytes(whole.substr(0, length));
    most = std::max(most, kernels_of(got));
    if (!got.result) continue;
    CHECK(got.result->coverage.state == CoverageState::partial);
    CHECK(got.result->coverage.lost > 0);
    CHECK(got.result->coverage.reason.find("the file is shorter than its first page says") != std::string::npos);
  }
  CHECK(most > 1'000);
}

TEST_CASE("bytes overwritten at random: no crash, never more rows than the pages could hold") {
  const std::string whole = test::NsysFile(job(400)).bytes();
  std::mt19937 random(31);
  int imported = 0;
  for (int round = 0; round < 300; ++round) {
    CAPTURE(round);
    std::string damaged = whole;
    const int hits = 1 + static_cast<int>(random() % 40);
    for (int i = 0; i < hits; ++i) damaged[random() % damaged.size()] = static_cast<char>(random());
    const auto got = import_bytes(damaged);
    if (!got.result) continue;
    ++imported;
    CHECK(kernels_of(got) <= whole.size() / 4);
  }
  CHECK(imported > 50);
}

TEST_CASE("pages that are linked in circles end") {
  std::string bytes = test::NsysFile(job(3000)).bytes();
  constexpr std::size_t kPage = 4096;
  int circles = 0;
  // Every child pointer of an interior table page is made to point at the page's first child.
  for (std::size_t page = kPage; page + kPage <= bytes.size(); page += kPage) {
    if (bytes[page] != 5) continue;
    const auto two = [&](std::size_t at) {
      return static_cast<std::size_t>(static_cast<unsigned char>(bytes[at])) << 8 |
             static_cast<unsigned char>(bytes[at + 1]);
    };
    const std::size_t cells = two(page + 3), first = page + two(page + 12);
    for (std::size_t cell = 1; cell < cells; ++cell)
      std::copy_n(bytes.begin() + static_cast<std::ptrdiff_t>(first), 4,
                  bytes.begin() + static_cast<std::ptrdiff_t>(page + two(page + 12 + 2 * cell)));
    ++circles;
  }
  REQUIRE(circles > 0);
  const auto got = import_bytes(bytes);
  if (got.result) CHECK(kernels_of(got) <= bytes.size() / 4);
}

}  // namespace gradsync
