// The parts of a report, in the order in which they are drawn, on whatever canvas. Each begins on a line of its own.
#pragma once

#include <string>
#include <vector>

#include "src/model/report.h"
#include "src/model/series_table.h"
#include "src/report/parts/canvas.h"
#include "src/report/parts/outcomes.h"

namespace gradsync {

void draw_header(const Report& report, Canvas& canvas);
void draw_verdict(const Report& report, Canvas& canvas);
void draw_step_bars(const Report& report, Canvas& canvas);
void draw_ab(const Report& report, Canvas& canvas);         // the measured counterfactual
void draw_exchanges(const Report& report, Canvas& canvas);  // compressed ones of a profile
void draw_gpu_counters(const Report& report, Canvas& canvas);
void draw_measured(const Report& report, Canvas& canvas);    // of files without a job: their numbers
void draw_loads(const Report& report, Canvas& canvas);       // reference compressors
void draw_whatif(const Report& report, Canvas& canvas);      // of the command whatif
void draw_comparison(const Report& report, Canvas& canvas);  // of the commands compare and verify
void draw_irq_heat(const Report& report, Canvas& canvas);    // of the command irq
void draw_irq_plan(const Report& report, Canvas& canvas);
void draw_diagnostic_steps(const Report& report, const std::vector<Outcome>& outcomes, Canvas& canvas);
void draw_findings(const Report& report, const std::vector<Outcome>& outcomes, Canvas& canvas);
void draw_coverage(const Report& report, Canvas& canvas);
void draw_unjudged(const std::vector<Outcome>& outcomes, Canvas& canvas);
void draw_clean(const std::vector<Outcome>& outcomes, Canvas& canvas);
void draw_facts(const Report& report, Canvas& canvas);

// What a report of its command shows.
bool without_job(const Report& report);                       // of machines alone: there is no step
bool answers_alone(const Report& report);                     // bench, whatif, compare: no diagnosis of a job
bool shows_steps(const Report& report, Verbosity verbosity);  // the four of a job's diagnosis; of a sweep on demand
bool shows_findings(const Report& report, const std::vector<Outcome>& outcomes);
std::vector<Outcome> shown_outcomes(const Report& report, Verbosity verbosity);

// Pieces of those, for a renderer that arranges them itself.
std::string command_text(const Report& report);   // "analyze a.json b.json", as one would type it; controls are visible
std::string run_text(const RunInfo& run);         // "2 ranks · 48 steps · 21.4 s · gloo"
std::string observer_text(const Report& report);  // "observer cost 0.3 % (ABBA)"; empty: not measured
std::vector<std::string> verdict_lines(const Report& report);
std::vector<int> shown_steps(const std::vector<Outcome>& outcomes);  // the four, and 0 where there are rules of none
std::string step_name(int number);                                   // "2 small-packet tax"
void draw_step_state(const Report& report, const std::vector<Outcome>& outcomes, int number, Canvas& canvas);
void draw_finding_title(const Finding& finding, Canvas& canvas);
void draw_finding_details(const Report& report, const Finding& finding, Canvas& canvas);  // evidence … saves
void draw_symptom(const Finding& finding, Canvas& canvas);                                // one that another explains
std::string memory_text(const Report& report);    // of bench: "memory: read 21.3 GB/s, …"
std::string remedy_saving(const SeriesRow& row);  // of the series whatif: "−47.1 ms predicted (40.2 … 52.0), …"
void draw_no_findings(const std::vector<Outcome>& outcomes, Canvas& canvas);

}  // namespace gradsync
