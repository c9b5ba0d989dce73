#include "collectors/import/interrupts_format.h"

#include <doctest/doctest.h>

#include <cmath>

#include "collectors/import/interrupts_join.h"
#include "collectors/import/recognise.h"
#include "tests/unit/import/trace_files.h"

namespace gradsync {
namespace {

Result<Imported> import_text(const std::string& bytes) {
  const test::TraceFile file(bytes, "interrupts");
  const Result<Recognised> found = recognise(file.path());
  REQUIRE(found);
  REQUIRE(found->kind == FileKind::importable);
  REQUIRE(found->format->name == "/proc/interrupts");
  test::KeptEvents events;
  return found->format->import({file.path(), 1}, events);
}

std::string snapshot(int first, int second, const std::string& before = "") {
  return before + "     CPU0  CPU1\n 36: " + std::to_string(first) + " 0 PCI-MSI 1-edge eth0-TxRx-0\n 37: 0 " +
         std::to_string(second) + " PCI-MSI 2-edge eth0-TxRx-1\nLOC: 5 5 Local timer interrupts\nERR: 0\n";
}

// What two files give together.
struct Joined {
  SeriesSet series;
  std::vector<Coverage> coverage;
};
Joined join(const std::vector<std::string>& texts) {
  Joined joined;
  for (const std::string& text : texts) {
    auto imported = import_text(text);
    REQUIRE(imported);
    for (auto& [name, series] : imported->series) {
      Series& whole = joined.series[name];
      if (whole.columns.empty()) whole = {series.name, series.columns, {}};
      whole.rows.insert(whole.rows.end(), series.rows.begin(), series.rows.end());
    }
  }
  join_interrupt_files(joined.series, joined.coverage);
  return joined;
}

double interval(const Series& irq) { return std::get<double>(irq.rows.at(0).at(8)); }

}  // namespace

TEST_CASE("two snapshots in a file: what came between them, with the interval of their stamps") {
  const auto imported = import_text(snapshot(10, 20, "1795956262\n") + snapshot(30, 21, "1795956272\n"));
  REQUIRE(imported);
  CHECK(imported->coverage.state == CoverageState::collected);
  const Series& irq = imported->series.at("irq");
  REQUIRE(irq.rows.size() == 2);
  CHECK(irq.rows[0][3] == Cell{std::int64_t{20}});
  CHECK(irq.rows[1][3] == Cell{std::int64_t{1}});
  CHECK(interval(irq) == doctest::Approx(10));
}

TEST_CASE("without stamps there are shares and no rates") {
  const auto imported = import_text(snapshot(10, 20) + snapshot(30, 21));
  REQUIRE(imported);
  CHECK(imported->coverage.state == CoverageState::partial);
  CHECK(imported->coverage.reason.find("shares, no rates") != std::string::npos);
  CHECK(imported->coverage.hint.find("date +%s.%N") != std::string::npos);
  CHECK(std::isnan(interval(imported->series.at("irq"))));
}

TEST_CASE("a last snapshot that is cut is left out, with its time") {
  const std::string two = snapshot(10, 20, "1795956262\n") + snapshot(30, 21, "1795956272\n");
  const auto imported = import_text(two + snapshot(50, 22, "1795956292\n").substr(0, 70));
  REQUIRE(imported);
  CHECK(imported->series.at("irq").rows.at(0).at(3) == Cell{std::int64_t{20}});
  CHECK(interval(imported->series.at("irq")) == doctest::Approx(10));
  CHECK(imported->coverage.reason.find("left out") != std::string::npos);
}

TEST_CASE("one snapshot is no interval, whatever it holds") {
  const Joined one = join({snapshot(10, 20)});
  CHECK_FALSE(one.series.contains("irq"));
  CHECK(one.series.contains("irq_since_boot"));
  REQUIRE(one.coverage.size() == 1);
  CHECK(one.coverage[0].state == CoverageState::partial);
  CHECK(one.coverage[0].reason == "there is one snapshot only: counts since boot are no interval");
  CHECK(one.coverage[0].hint.find("cat /proc/interrupts") != std::string::npos);
}

TEST_CASE("two files of one machine, in either order") {
  for (const auto& files : {std::vector{snapshot(10, 20), snapshot(30, 21)}, {snapshot(30, 21), snapshot(10, 20)}}) {
    const Joined joined = join(files);
    CHECK_FALSE(joined.series.contains("irq_since_boot"));
    REQUIRE(joined.series.at("irq").rows.size() == 2);
    CHECK(joined.series.at("irq").rows[0][3] == Cell{std::int64_t{20}});
    REQUIRE(joined.coverage.size() == 1);
    CHECK(joined.coverage[0].state == CoverageState::partial);
  }
  const Joined timed = join({snapshot(10, 20, "1795956262\n"), snapshot(30, 21, "1795956272\n")});
  CHECK(interval(timed.series.at("irq")) == doctest::Approx(10));
  CHECK(timed.coverage.at(0).state == CoverageState::collected);
}

TEST_CASE("files that are no pair are not compared") {
  const std::string other = "  CPU0 CPU1\n 9: 1 2 IO-APIC 9-edge acpi\nNMI: 0 0 Non-maskable\n";
  const std::string boot = "  CPU0 CPU1\n 9: 2 1 IO-APIC 9-edge acpi\nNMI: 0 0 Non-maskable\n";
  CHECK(join({snapshot(1, 2), other}).coverage.at(0).reason.find("two machines") != std::string::npos);
  CHECK(join({other, boot}).coverage.at(0).reason.find("two boots") != std::string::npos);
  CHECK(join({other, other, other}).coverage.at(0).reason.find("more than two files") != std::string::npos);
}

TEST_CASE("names that are cut off and rows that are cut off are said") {
  const auto unnamed = import_text("  CPU0 CPU1\n 36: 1 2\n 37: 3 4\n");
  REQUIRE(unnamed);
  CHECK(unnamed->coverage.reason.find("ends of the lines are missing") != std::string::npos);
  const auto rows = import_text("  CPU0 CPU1 CPU2\n 36: 1 2\n 37: 3 4\n");
  REQUIRE_FALSE(rows);
  CHECK(rows.error().message().find("lines are cut") != std::string::npos);
  const auto header = import_text("   CPU0\n");
  REQUIRE_FALSE(header);
  CHECK(header.error().message().find("no interrupts") != std::string::npos);
}

}  // namespace gradsync
