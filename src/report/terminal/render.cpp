#include "src/report/parts/fabric.h"
#include "src/report/parts/outcomes.h"
#include "src/report/parts/parts.h"
#include "src/report/terminal.h"
#include "src/report/terminal/text_canvas.h"

namespace gradsync {
namespace {

// What was measured: a fabric, loads, interrupts, or the step of a job.
void draw_subject(const Report& report, Canvas& canvas) {
  if (report.command == "whatif") draw_whatif(report, canvas);
  draw_fabric(report, canvas);
  canvas.blank();
  draw_comparison(report, canvas);
  canvas.blank();
  if (report.command == "whatif" || report.command == "compare") return;
  if (report.command == "bench") return draw_loads(report, canvas);
  if (!without_job(report)) {
    draw_step_bars(report, canvas);
    draw_exchanges(report, canvas);
    draw_gpu_counters(report, canvas);
    draw_ab(report, canvas);
    return;
  }
  draw_irq_heat(report, canvas);
  canvas.blank();
  draw_irq_plan(report, canvas);
  canvas.blank();
  if (report.command != "irq" || canvas.options().verbosity == Verbosity::verbose) draw_measured(report, canvas);
}

}  // namespace

std::string render_terminal(const Report& report, const TerminalOptions& options) {
  TextCanvas canvas(options);
  const std::vector<Outcome> outcomes = shown_outcomes(report, options.verbosity);
  if (options.verbosity == Verbosity::quiet) {
    draw_verdict(report, canvas);
    draw_irq_plan(report, canvas);
    if (report.command == "whatif") draw_whatif(report, canvas);
    if (report.command != "compare" || !outcomes.empty()) draw_findings(report, outcomes, canvas);
    return canvas.take();
  }
  draw_header(report, canvas);
  canvas.blank();
  draw_verdict(report, canvas);
  canvas.blank();
  draw_subject(report, canvas);
  canvas.blank();
  if (shows_steps(report, options.verbosity)) draw_diagnostic_steps(report, outcomes, canvas);
  canvas.blank();
  if (shows_findings(report, outcomes)) draw_findings(report, outcomes, canvas);
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
