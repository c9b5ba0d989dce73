#include "src/report/terminal.h"
#include "src/report/terminal/fabric.h"
#include "src/report/terminal/outcomes.h"
#include "src/report/terminal/parts.h"
#include "src/report/terminal/text_canvas.h"

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

bool without_job(const Report& report) {
  const auto job = report.facts.find("job");
  return job != report.facts.end() && job->second == "none";
}

bool answers_alone(const Report& report) {
  return report.command == "bench" || report.command == "whatif" || report.command == "compare";
}

bool shows_steps(const Report& report, Verbosity verbosity) {
  if (answers_alone(report)) return false;
  if (report.command == "sweep") return verbosity == Verbosity::verbose;
  return report.command != "irq";
}

bool shows_findings(const Report& report, const std::vector<Outcome>& outcomes) {
  return !answers_alone(report) || !outcomes.empty();
}

std::vector<Outcome> shown_outcomes(const Report& report, Verbosity verbosity) {
  std::vector<Outcome> outcomes = outcomes_of(report);
  if (report.command == "sweep" && verbosity != Verbosity::verbose)
    std::erase_if(outcomes, [](const Outcome& outcome) { return !about_the_fabric(outcome); });
  return outcomes;
}

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
