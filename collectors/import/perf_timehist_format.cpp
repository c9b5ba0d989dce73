#include "collectors/import/host_lines.h"
#include "collectors/import/perf_format.h"
#include "src/hosttext/perf_timehist.h"
#include "src/hosttext/series.h"

namespace gradsync {
namespace {

constexpr int kLookLines = 60;

}  // namespace

bool is_perf_timehist(std::string_view head) {
  FirstLines lines(head, kLookLines);
  while (const auto line = lines.next())
    if (is_timehist_header(*line)) return true;
  return false;
}

Result<Imported> import_perf_timehist(const ImportRequest& request, EventSink&) {
  Result<HostLines> lines = HostLines::open(request.path);
  if (!lines) return lines.error();
  PerfTimehistParser parser;
  while (const auto line = lines->next()) parser.add_line(*line);
  const std::vector<ThreadWait> threads = parser.threads();
  if (threads.empty())
    return Error{"cannot be used", request.path.string(), "no thread left a CPU in this output of perf sched timehist",
                 "perf sched timehist, without --summary", 3};
  Imported imported;
  imported.coverage = lines->coverage();
  if (parser.broken_rows() > 0) add_reason(imported.coverage, "rows that cannot be read", parser.broken_rows());
  if (parser.dropped() > 0) add_reason(imported.coverage, "more threads or delays than are kept", parser.dropped());
  imported.series["sched"] = sched_series(threads, "perf sched timehist");
  return imported;
}

}  // namespace gradsync
