#include "collectors/import/perf_format.h"

#include <doctest/doctest.h>

#include "collectors/import/recognise.h"
#include "tests/unit/import/trace_files.h"

namespace gradsync {
namespace {

Result<Imported> import_text(const std::string& bytes) {
  const test::TraceFile file(bytes, "some.txt");
  const Result<Recognised> found = recognise(file.path());
  REQUIRE(found);
  REQUIRE(found->kind == FileKind::importable);
  test::KeptEvents events;
  Result<Imported> imported = found->format->import({file.path(), 1}, events);
  CHECK(events.processes.empty());
  return imported;
}

bool says(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

constexpr const char* kLatencyHeader =
    "\n ------------------------\n"
    "  Task                  |   Runtime ms  |  Count   | Avg delay ms    | Max delay ms    | Max delay start   |\n";
constexpr const char* kTimehistHeader =
    "           time    cpu  task name                       wait time  sch delay   run time\n";

}  // namespace

TEST_CASE("perf sched latency becomes the series sched") {
  const auto imported =
      import_text(std::string(kLatencyHeader) +
                  "  python3:7 |  2.000 ms |  4 | avg:   2.500 ms | max:  36.002 ms | max start:  19.3 s |\n"
                  "  INFO: 1.769% context switch bugs (68 out of 3844)\n");
  REQUIRE(imported);
  CHECK(imported->processes == 0);
  REQUIRE(imported->series.at("sched").rows.size() == 1);
  CHECK(imported->coverage.state == CoverageState::partial);
  CHECK(says(imported->coverage.reason, "1.769% context switch bugs"));
}

TEST_CASE("a table without wake-ups is refused with the command that records them") {
  const auto imported =
      import_text(std::string(kLatencyHeader) +
                  "  python3:7 |  2.000 ms |  4 | avg:   0.000 ms | max:   0.000 ms | max start:  0.000000 s |\n");
  REQUIRE_FALSE(imported);
  CHECK(says(imported.error().message(), "1 of 1 tasks: it recorded sched_waking"));
  CHECK(says(imported.error().hint, "-e sched:sched_wakeup "));
  const auto empty = import_text(kLatencyHeader);
  REQUIRE_FALSE(empty);
  CHECK(says(empty.error().message(), "no task stands in the table"));
}

TEST_CASE("perf sched timehist, also compressed") {
  const std::string text =
      std::string(kTimehistHeader) + "    1947.018099 [0000]  python3[7]      0.000      0.019      1.500 \r\n";
  for (const std::string& bytes : {text, test::gzip(text)}) {
    const auto imported = import_text(bytes);
    REQUIRE(imported);
    CHECK(imported->coverage.state == CoverageState::collected);
    CHECK(imported->series.at("sched").rows.at(0).at(0) == Cell{"python3:7"});
  }
  const auto cut = import_text(test::gzip(text).substr(0, test::gzip(text).size() - 4));
  REQUIRE(cut);
  CHECK(cut->coverage.state == CoverageState::partial);
  const auto summary = import_text(kTimehistHeader);
  REQUIRE_FALSE(summary);
  CHECK(says(summary.error().message(), "no thread left a CPU"));
}

TEST_CASE("perf script: waits, interrupts, and what stays open at its edges") {
  const auto imported = import_text(
      "# ========\n# cmdline : perf record -a\n#\n"
      "swapper 0 [000] 10.000100: sched:sched_wakeup: comm=a pid=7 prio=120 target_cpu=000\n"
      "swapper 0 [000] 10.000350: sched:sched_switch: prev_comm=swapper/0 prev_pid=0 prev_prio=120 prev_state=R ==> "
      "next_comm=a next_pid=7 next_prio=120\n"
      "a 7 [000] 10.001000: irq:softirq_entry: vec=3 [action=NET_RX]\n"
      "a 7 [000] 10.001500: irq:softirq_exit: vec=3 [action=NET_RX]\n"
      "a 7 [001] 10.001600: irq:irq_handler_exit: irq=3 ret=handled\n"
      "a 7 [001] 11.000100: PERF_RECORD_LOST lost 9\n"
      "a 7 [001] 11.000100: irq:softirq_raise: vec=3 [action=NET_RX]\n");
  REQUIRE(imported);
  const Series& sched = imported->series.at("sched");
  REQUIRE(sched.rows.size() == 1);
  CHECK(std::get<double>(sched.rows[0][4]) == doctest::Approx(250));
  const Series& irq = imported->series.at("irq");
  REQUIRE(irq.rows.size() == 1);
  CHECK(std::get<double>(irq.rows[0][5]) == doctest::Approx(500));
  CHECK(std::get<double>(irq.rows[0][8]) == doctest::Approx(1));
  CHECK(says(imported->coverage.reason, "left out: 1 waits"));
  CHECK(says(imported->coverage.reason, "lower bounds"));
  CHECK(imported->coverage.lost == 9);
}

TEST_CASE("perf script without switches and interrupts is refused with the command that records them") {
  const auto imported = import_text("a 7 [000] 1.5: sched:sched_stat_runtime: comm=a pid=7 runtime=5 [ns]\n");
  REQUIRE_FALSE(imported);
  CHECK(says(imported.error().message(), "neither context switches nor interrupts"));
  CHECK(says(imported.error().hint, "perf record -a -e sched:sched_switch"));
}

TEST_CASE("other text is none of these") {
  const std::string one_line(std::size_t{3} << 20, 'x');
  for (const std::string& bytes : {std::string("a,b\n1,2\n"), one_line, std::string("Task | Runtime\n"),
                                   std::string("a 7 [000] 1.5: cycles:u: 401136 main (/bin/a)\n")}) {
    const test::TraceFile file(bytes, "some.txt");
    const Result<Recognised> found = recognise(file.path());
    REQUIRE(found);
    CHECK(found->kind == FileKind::unknown);
  }
}

TEST_CASE("a line without end is left out, not kept in memory") {
  const auto imported = import_text(
      std::string(kTimehistHeader) + "    1.000001 [0000]  a[7]      0.000      0.019      1.500\n" +
      std::string(std::size_t{5} << 20, 'y') + "\n" + "    1.000002 [0000]  b[8]      0.000      0.019      1.500");
  REQUIRE(imported);
  CHECK(imported->series.at("sched").rows.size() == 2);
  CHECK(imported->coverage.lost == 1);
  CHECK(says(imported->coverage.reason, "more than 1 MiB"));
}

}  // namespace gradsync
