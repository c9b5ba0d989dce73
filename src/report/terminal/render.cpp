#include "src/report/terminal.h"
#include "src/report/terminal/canvas.h"
#include "src/report/terminal/fabric.h"
#include "src/report/terminal/outcomes.h"
#include "src/report/terminal/parts.h"

namespace gradsync {
namespace {

// A sweep holds no job. What is asked of jobs is not said of it, unless somebody wants to see everything.
bool about_the_fabric(const Outcome& outcome) {
  if (!outcome.fired.empty()) return true;
  for (const auto* findings : {&outcome.clean, &outcome.unjudged})
    for (const Finding* finding : *findings)
      for (const std::string& metric : finding->evidence)
        if (metric.starts_with("fabric.")) return true;
  return false;
}

}  // namespace

std::string render_terminal(const Report& report, const TerminalOptions& options) {
  Canvas canvas(options);
  std::vector<Outcome> outcomes = outcomes_of(report);
  const bool sweep_alone = report.command == "sweep" && options.verbosity != Verbosity::verbose;
  if (sweep_alone) std::erase_if(outcomes, [](const Outcome& outcome) { return !about_the_fabric(outcome); });
  if (options.verbosity == Verbosity::quiet) {
    draw_verdict(report, canvas);
    draw_findings(report, outcomes, canvas);
    return canvas.take();
  }
  draw_header(report, canvas);
  canvas.blank();
  draw_verdict(report, canvas);
  canvas.blank();
  draw_fabric(report, canvas);
  canvas.blank();
  if (report.command == "bench") {
    draw_loads(report, canvas);
  } else if (const auto job = report.facts.find("job"); job != report.facts.end() && job->second == "none") {
    draw_measured(report, canvas);
  } else {
    draw_step_bars(report, canvas);
    draw_exchanges(report, canvas);
  }
  canvas.blank();
  // A measurement of loads, where nothing is to judge, has no steps to draw.
  if (!sweep_alone && (report.command != "bench" || !outcomes.empty())) {
    draw_diagnostic_steps(report, outcomes, canvas);
    canvas.blank();
  }
  if (report.command != "bench" || !outcomes.empty()) draw_findings(report, outcomes, canvas);
  canvas.blank();
  draw_coverage(report, canvas);
  canvas.blank();
  draw_unjudged(outcomes, canvas);
  canvas.blank();
  draw_clean(outcomes, canvas);
  if (options.verbosity == Verbosity::verbose) {
    canvas.blank();
    draw_facts(report, canvas);
  }
  return canvas.take();
}

}  // namespace gradsync
