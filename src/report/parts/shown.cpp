// What a report of its command shows.
#include "src/report/parts/parts.h"

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

}  // namespace gradsync
