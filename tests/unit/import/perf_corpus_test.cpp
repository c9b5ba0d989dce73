// Real outputs of perf: each is read, or refused with its reason.
#include <doctest/doctest.h>

#include "collectors/import/recognise.h"
#include "tests/unit/import/trace_files.h"

namespace gradsync {
namespace {

Result<Imported> import_file(const std::filesystem::path& path, const std::string& kind) {
  CAPTURE(path.string());
  const Result<Recognised> found = recognise(path);
  REQUIRE(found);
  REQUIRE(found->kind == FileKind::importable);
  CHECK(found->format->name == kind);
  test::KeptEvents events;
  return found->format->import({path, 1}, events);
}

std::int64_t total(const Series& series, std::size_t column) {
  std::int64_t sum = 0;
  for (const auto& row : series.rows) sum += std::get<std::int64_t>(row[column]);
  return sum;
}

double longest(const Series& series) {
  double longest = 0;
  for (const auto& row : series.rows)
    if (std::get<double>(row[4]) > longest) longest = std::get<double>(row[4]);  // NaN is not
  return longest;
}

std::string kind_of(const std::string& name) {
  return name.find("latency") != std::string::npos    ? "perf sched latency"
         : name.find("timehist") != std::string::npos ? "perf sched timehist"
                                                      : "perf script";
}

}  // namespace

TEST_CASE("real outputs of perf sched and perf script") {
  const auto corpus = test::corpus();
  if (!corpus || !std::filesystem::is_directory(*corpus / "perf-sched")) {
    MESSAGE("skipped: GSD_CORPUS names no folder with outputs of perf");
    return;
  }
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(*corpus / "perf-sched")) {
    const std::string name = entry.path().filename().string();
    CAPTURE(name);
    ++files;
    const auto imported = import_file(entry.path(), kind_of(name));
    if (name.find("zero-delay") != std::string::npos) {
      REQUIRE_FALSE(imported);
      CHECK(imported.error().why.find("nothing was measured") != std::string::npos);
      CHECK(imported.error().hint.find("sched:sched_wakeup") != std::string::npos);
      continue;
    }
    REQUIRE(imported);
    const Series& sched = imported->series.at("sched");
    CHECK_FALSE(sched.rows.empty());
    CHECK(imported->coverage.reason.find("cannot be read") == std::string::npos);
    if (name == "own-good-stress-latency.txt") CHECK(longest(sched) == doctest::Approx(36002));
    // Counted with another program: 111 runs after a wake-up; of 4 the thread's own switch before it is not in the text.
    if (name == "own-idle-script.txt") CHECK(total(sched, 1) == 107);
    if (name == "own-stress-script.txt") CHECK(longest(sched) == doctest::Approx(3760));
    if (name == "own-stress-timehist.txt") CHECK(longest(sched) == doctest::Approx(3759));
    if (name == "own-irq-script.txt") CHECK(imported->series.at("irq").rows.size() == 4);
  }
  CHECK(files == 10);
}

}  // namespace gradsync
