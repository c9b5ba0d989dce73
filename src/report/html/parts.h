// The parts of the page. Each writes whole elements; one that has nothing to show writes nothing and says so.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "src/model/report.h"
#include "src/report/html/markup.h"
#include "src/report/parts/outcomes.h"

namespace gradsync {

void write_step_bars(const Report& report, Markup& page);  // attribution: a bar and a table
std::string style_of_class(std::string_view name);         // of the style sheet, for a class or phase of the step
void write_findings(const Report& report, const std::vector<Outcome>& outcomes, Markup& page);
void write_facts(const Report& report, Markup& page);

// Pictures of the job.
void write_steps(const Report& report, Markup& page);     // series steps: time of each, classes of each
void write_lanes(const Report& report, Markup& page);     // series lanes: timelines
void write_messages(const Report& report, Markup& page);  // series messages: a histogram

// What is measured beside a job or without one.
void write_fabric(const Report& report, Markup& page);    // series sweep.<op>, fits, cliffs, break_even, job_on_fabric
void write_threads(const Report& report, Markup& page);   // series sched, preemptions: tables
void write_irq_heat(const Report& report, Markup& page);  // series irq
void write_whatif(const Report& report, Markup& page);    // series whatif, bucket_plan
void write_loads(const Report& report, Markup& page);     // series load_profiles

}  // namespace gradsync
