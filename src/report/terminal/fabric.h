// A fabric's curve: table, plot, fit, cliffs, and what the job and compression would make of it. Drawn from the series
// sweep.<op>, fabric_fit, fabric_cliffs, break_even and job_on_fabric alone.
#pragma once

#include "src/model/report.h"
#include "src/report/terminal/canvas.h"
#include "src/report/terminal/sweep_groups.h"

namespace gradsync {

bool has_sweep(const Report& report);
void draw_fabric(const Report& report, Canvas& canvas);

void draw_sweep_table(const Report& report, const SweepGroup& group, Canvas& canvas);
void draw_sweep_curve(const Report& report, const SweepGroup& group, Canvas& canvas);
void draw_fit(const Report& report, const SweepGroup& group, Canvas& canvas);
void draw_cliffs(const Report& report, const SweepGroup& group, Canvas& canvas);
// Any series as a table of its columns, with units by their names.
void draw_series(const Series& series, std::string_view title, Canvas& canvas);

}  // namespace gradsync
