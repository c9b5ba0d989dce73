#include "collectors/import/host_lines.h"
#include "collectors/import/perf_format.h"
#include "src/base/text.h"
#include "src/hosttext/perf_latency.h"
#include "src/hosttext/series.h"

namespace gradsync {
namespace {

constexpr int kLookLines = 60;  // perf's own warnings may come before the table

constexpr const char* kRecordWakeups =
    "perf sched timehist of the same perf.data shows them; or record: perf record -a -e sched:sched_switch -e "
    "sched:sched_wakeup -e sched:sched_wakeup_new -e sched:sched_migrate_task -e sched:sched_stat_runtime -- sleep 10";

}  // namespace

bool is_perf_latency(std::string_view head) {
  FirstLines lines(head, kLookLines);
  while (const auto line = lines.next())
    if (is_latency_header(*line)) return true;
  return false;
}

Result<Imported> import_perf_latency(const ImportRequest& request, EventSink&) {
  Result<HostLines> lines = HostLines::open(request.path);
  if (!lines) return lines.error();
  PerfLatencyParser parser;
  while (const auto line = lines->next()) parser.add_line(*line);
  const PerfLatency& table = parser.table();
  const auto refused = [&](std::string why, std::string hint) {
    return Error{"cannot be used", request.path.string(), std::move(why), std::move(hint), 3};
  };
  if (table.tasks.empty()) return refused("no task stands in the table of perf sched latency", "");
  if (table.without_wakeups())
    return refused("perf saw no wake-up of " + std::to_string(table.zero_tasks) + " of " +
                       std::to_string(table.tasks.size()) +
                       " tasks: it recorded sched_waking, and perf sched latency counts sched_wakeup; its 0.000 ms "
                       "mean that nothing was measured",
                   kRecordWakeups);
  Imported imported;
  imported.coverage = lines->coverage();
  if (table.zero_tasks > 0)
    add_reason(imported.coverage, "no delay was ever seen of " + std::to_string(table.zero_tasks) + " tasks");
  if (table.broken_rows > 0) add_reason(imported.coverage, "rows that cannot be read", table.broken_rows);
  for (const std::string& info : table.infos) add_reason(imported.coverage, "perf says: " + escape_controls(info));
  imported.coverage.lost += table.lost_events;
  imported.series["sched"] = sched_series(table.tasks, "perf sched latency");
  return imported;
}

}  // namespace gradsync
