#include "src/report/terminal.h"
#include "src/report/terminal/canvas.h"
#include "src/report/terminal/outcomes.h"
#include "src/report/terminal/parts.h"

namespace gradsync {

std::string render_terminal(const Report& report, const TerminalOptions& options) {
  Canvas canvas(options);
  const std::vector<Outcome> outcomes = outcomes_of(report);
  if (options.verbosity == Verbosity::quiet) {
    draw_verdict(report, canvas);
    draw_irq_plan(report, canvas);
    draw_findings(report, outcomes, canvas);
    return canvas.take();
  }
  const bool irq = report.command == "irq";  // no job, and most rules are of jobs
  draw_header(report, canvas);
  canvas.blank();
  draw_verdict(report, canvas);
  canvas.blank();
  if (const auto job = report.facts.find("job"); job != report.facts.end() && job->second == "none") {
    draw_irq_heat(report, canvas);
    canvas.blank();
    draw_irq_plan(report, canvas);
    canvas.blank();
    if (!irq || options.verbosity == Verbosity::verbose) draw_measured(report, canvas);
  } else {
    draw_step_bars(report, canvas);
    draw_exchanges(report, canvas);
  }
  canvas.blank();
  if (!irq) draw_diagnostic_steps(report, outcomes, canvas);
  canvas.blank();
  draw_findings(report, outcomes, canvas);
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
