// Hardware counters of the kernels that compress, below the step:
//   counters  dram throughput 43 % of peak · lts sectors 21 % of peak · …   3 kernels of the first bucket …
#include <fmt/format.h>

#include <string>
#include <vector>

#include "src/base/text.h"
#include "src/base/units.h"
#include "src/report/parts/parts.h"
#include "src/report/parts/words.h"

namespace gradsync {
namespace {

constexpr std::string_view kPrefix = "gpu.counters.", kDuration = "gpu__time_duration.sum";

// "dram__throughput.avg.pct_of_peak_sustained_elapsed" stays as it is: people look it up by that name.
std::string told(const Metric& metric) {
  const std::string counter = metric.name.substr(kPrefix.size());
  if (counter == kDuration) return no_break(format_value(metric.value * 1e-3, "us") + " on the device");
  const bool share = counter.find("pct") != std::string::npos;
  return counter + " " + no_break(share ? fmt::format("{:.1f} %", metric.value) : format_value(metric.value, ""));
}

}  // namespace

void draw_gpu_counters(const Report& report, Canvas& canvas) {
  std::vector<std::string> numbers;
  for (const Metric& metric : report.metrics)
    if (metric.name.starts_with(kPrefix) && metric.scope == "all") numbers.push_back(told(metric));
  if (numbers.empty()) return;
  canvas.label("counters", 0, 10, Paint::strong);
  for (std::size_t i = 0; i < numbers.size(); ++i) canvas.piece(numbers[i] + (i + 1 < numbers.size() ? " ·" : ""));
  if (const auto of = report.facts.find("counters.of"); of != report.facts.end())
    canvas.piece(escape_controls(of->second), Paint::faint, 3);
}

}  // namespace gradsync
