// The numbers of files that hold no job (a size sweep, interrupts, scheduling): there is no step to draw. Those of a
// sweep stand in its table already.
#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "src/base/units.h"
#include "src/report/parts/fabric.h"
#include "src/report/parts/parts.h"
#include "src/report/parts/words.h"

namespace gradsync {
namespace {

constexpr std::size_t kMostRows = 20;  // -v shows them all

// Those of the whole before those of single devices and threads.
std::vector<const Metric*> whole_first(const Report& report) {
  std::vector<const Metric*> metrics;
  const bool drawn = has_sweep(report);
  for (const Metric& metric : report.metrics)
    if (std::isfinite(metric.value) && !metric.name.starts_with("run.") && !metric.name.starts_with("step.") &&
        !(drawn && (metric.name.starts_with("fabric.") || metric.name.starts_with("overlay."))))
      metrics.push_back(&metric);
  std::stable_partition(metrics.begin(), metrics.end(), [](const Metric* metric) { return metric->scope == "all"; });
  return metrics;
}

}  // namespace

void draw_measured(const Report& report, Canvas& canvas) {
  const std::vector<const Metric*> metrics = whole_first(report);
  if (metrics.empty()) return;
  const bool all = canvas.options().verbosity == Verbosity::verbose;
  const std::size_t rows = all ? metrics.size() : std::min(metrics.size(), kMostRows);
  canvas.heading("MEASURED", "");
  for (std::size_t i = 0; i < rows; ++i) {
    const Metric& metric = *metrics[i];
    canvas.start(2, 6);
    canvas.piece(metric.name + (metric.scope == "all" ? "" : " (" + scope_text(metric.scope) + ")"));
    canvas.piece(no_break(format_value(metric.value, metric.unit())), Paint::strong);
    canvas.piece(spread_text(metric), Paint::faint);
  }
  if (rows == metrics.size()) return;
  canvas.start(2, 6);
  canvas.piece("and " + plural(static_cast<std::int64_t>(metrics.size() - rows), "number") + " more: -v shows them",
               Paint::faint);
}

}  // namespace gradsync
