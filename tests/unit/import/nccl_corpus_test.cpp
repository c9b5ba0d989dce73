// Every real log of nccl-tests in the corpus, against what MANIFEST.tsv counted in it with another program, and against
// the mean that the test itself printed.
#include <doctest/doctest.h>

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <map>
#include <set>

#include "collectors/import/nccl_log.h"
#include "collectors/import/nccl_operation.h"
#include "collectors/import/recognise.h"
#include "tests/unit/import/trace_files.h"

namespace gradsync {
namespace {

struct Expected {
  std::string file, columns, program, version;
  double rows = 0, first = 0, largest = 0, ranks = 0, nodes = 0, average = 0;
};

std::string behind(const std::string& line, const std::string& key, const char* end) {
  const std::size_t at = line.find(key);
  if (at == std::string::npos) return "";
  const std::size_t first = at + key.size();
  return line.substr(first, line.find_first_of(end, first) - first);
}

std::vector<Expected> manifest(const std::filesystem::path& corpus) {
  std::vector<Expected> files;
  std::ifstream in(corpus / "MANIFEST.tsv");
  for (std::string line; std::getline(in, line);) {
    if (!line.starts_with("nccl-tests/")) continue;
    Expected expected;
    expected.file = line.substr(0, line.find('\t'));
    const auto number = [&](const char* key, const char* end) {
      return std::strtod(behind(line, key, end).c_str(), nullptr);
    };
    expected.rows = number("rows=", " ");
    expected.first = number(" sizes ", ".");
    expected.largest = number("..", ";");
    expected.ranks = number("ranks listed=", ";");
    expected.nodes = number("nodes=", ";");
    expected.average = number("avg_busbw=", ";");
    expected.program = behind(line, "coll=", ";");
    expected.version = behind(line, "nccl=", ";");
    expected.columns = behind(line, "columns=", ";");
    files.push_back(expected);
  }
  return files;
}

double number(const Cell& cell) {
  if (const auto* whole = std::get_if<std::int64_t>(&cell)) return static_cast<double>(*whole);
  const auto* real = std::get_if<double>(&cell);
  return real != nullptr ? *real : std::nan("");
}

struct Totals {
  double out = 0, in = 0, largest = 0;
  std::set<double> sizes;
  std::map<std::string, std::pair<double, double>> busbw;  // source → sum, cells
};

Totals totals_of(const SeriesSet& series) {
  Totals totals;
  for (const auto& [name, table] : series) {
    if (!name.starts_with("sweep.")) continue;
    for (const auto& row : table.rows) {
      (std::get<std::string>(row[12]) == "in" ? totals.in : totals.out) += 1;
      totals.sizes.insert(number(row[0]));
      if (number(row[8]) >= 10)
        CHECK(number(row[0]) / number(row[5]) / 1e3 == doctest::Approx(number(row[8])).epsilon(0.003));
      totals.largest = std::max(totals.largest, number(row[0]));
      auto& [sum, cells] = totals.busbw[std::get<std::string>(row[13])];
      sum += number(row[9]);
      cells += 1;
    }
  }
  return totals;
}

void check_runs(const Series& runs, const Expected& expected, const Totals& totals) {
  double ranks = 0, nodes = 0;
  for (const auto& row : runs.rows) {
    if (number(row[3]) > 0) ranks += number(row[3]);
    if (number(row[4]) > 0) nodes = std::max(nodes, number(row[4]));
    // The test's mean is over the same numbers before they were rounded to two decimals.
    const auto& [sum, cells] = totals.busbw.at(std::get<std::string>(row[2]));
    if (std::isfinite(number(row[8])) && !expected.file.ends_with("aws-topology-1.log"))  // an excerpt: "..." between
      CHECK(sum / cells == doctest::Approx(number(row[8])).epsilon(0.002));
  }
  // The manifest also counts other lines of NCCL's log, no Device lines, and a second run that has no table.
  const bool counted_otherwise = expected.file.find("timez") != std::string::npos ||
                                 expected.file.ends_with("nccl1-readme-1.log") ||
                                 expected.file.find("xxrjun-01") != std::string::npos;
  if (!counted_otherwise) CHECK(ranks == expected.ranks);
  CHECK(nodes == expected.nodes);
  const double first = number(runs.rows.front()[8]);
  if (expected.average > 0) CHECK(first == doctest::Approx(expected.average));
  if (expected.program != "None") {
    CHECK(std::get<std::string>(runs.rows.front()[0]) == operation_of_program(expected.program));
    CHECK(std::get<std::string>(runs.rows.front()[1]) == "printed");
  }
}

}  // namespace

TEST_CASE("real logs of nccl-tests: every row is in a series, or the file says why not") {
  const char* const corpus = std::getenv("GSD_CORPUS");
  if (corpus == nullptr || !std::filesystem::exists(std::filesystem::path(corpus) / "nccl-tests")) {
    MESSAGE("skipped: GSD_CORPUS names no folder with logs of nccl-tests");
    return;
  }
  const std::vector<Expected> files = manifest(corpus);
  REQUIRE(files.size() > 30);
  for (const Expected& expected : files) {
    CAPTURE(expected.file);
    const std::filesystem::path path = std::filesystem::path(corpus) / expected.file;
    const auto kind = recognise(path);
    REQUIRE(kind);
    REQUIRE(kind->kind == FileKind::importable);
    CHECK(kind->format->name == "nccl-tests log");
    test::KeptEvents sink;
    const auto imported = kind->format->import({path, 1}, sink);
    if (expected.file.ends_with("gke-a3ultra-1.log")) {  // its numbers are masked
      REQUIRE_FALSE(imported);
      CHECK(imported.error().why.find("hold no numbers") != std::string::npos);
      continue;
    }
    REQUIRE(imported);
    CHECK(imported->coverage.lost == 0);
    const Totals totals = totals_of(imported->series);
    CHECK(totals.out == totals.in);
    CHECK(totals.sizes.contains(expected.first));
    CHECK(totals.largest == expected.largest);
    if (expected.file.ends_with("nccl1-readme-1.log"))
      CHECK(totals.out == 20);  // the manifest's 12 leave out the rows of type half, float and double
    else
      CHECK(totals.out == expected.rows);
    check_runs(imported->series.at("sweep_runs"), expected, totals);
    if (expected.version != "None") CHECK(imported->facts.at("nccl.version") == expected.version);
  }
}

}  // namespace gradsync
