// The parts of the terminal report, in the order in which they are drawn. Each begins on a line of its own.
#pragma once

#include <vector>

#include "src/model/report.h"
#include "src/report/terminal/canvas.h"
#include "src/report/terminal/outcomes.h"

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

}  // namespace gradsync
