// Threads that waited for a CPU.
#include "src/report/html/parts.h"
#include "src/report/html/table.h"

namespace gradsync {
namespace {

void write_series(const Report& report, const char* name, std::string_view caption,
                  const std::vector<std::string>& columns, Markup& page) {
  const auto series = report.series.find(name);
  if (series == report.series.end() || series->second.rows.empty()) return;
  page.open("details");
  page.element("summary", {}, caption);
  draw_series_table(page, series->second, caption, columns);
  page.close();
}

}  // namespace

void write_threads(const Report& report, Markup& page) {
  write_series(
      report, "sched", "Threads",
      {"thread", "count", "p50_us", "p99_us", "max_us", "wait_us", "run_us", "migrations", "preempted_by", "source"},
      page);
  write_series(report, "preemptions", "Longest waits",
               {"thread", "longest_wake_us", "count", "p50_us", "p99_us", "max_us", "preempted_by"}, page);
}

}  // namespace gradsync
