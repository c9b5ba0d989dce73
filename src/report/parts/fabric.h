// A fabric's curve: table, plot, fit, cliffs, and what the job and compression would make of it. Drawn from the series
// sweep.<op>, fabric_fit, fabric_cliffs, break_even and job_on_fabric alone.
#pragma once

#include "src/model/report.h"
#include "src/report/parts/canvas.h"
#include "src/report/parts/curve.h"
#include "src/report/parts/sweep_groups.h"

namespace gradsync {

bool has_sweep(const Report& report);
void draw_fabric(const Report& report, Canvas& canvas);

void draw_sweep_table(const Report& report, const SweepGroup& group, Canvas& canvas);
void draw_sweep_curve(const Report& report, const SweepGroup& group, Canvas& canvas);
void draw_fit(const Report& report, const SweepGroup& group, Canvas& canvas);
void draw_cliffs(const Report& report, const SweepGroup& group, Canvas& canvas);
// Any series as a table of its columns, with units by their names.
void draw_series(const Series& series, std::string_view title, Canvas& canvas);
std::string series_cell(const SeriesRow& row, const std::string& column);  // "4 MiB"; "-": not known
std::string series_heading(
    const std::string& column);  // "break_even_bytes" → "break even": the unit stands with each number
// What a job's messages cost on this curve, whoever hides it.
void draw_overlay(const Report& report, Canvas& canvas);

// The table of a sweep: two lines of headings, then its rows. A column that no row fills is left out, and as many as need
// more than `room` columns of text.
struct SweepLines {
  std::vector<std::string> names, units;
  std::vector<std::vector<std::string>> rows;
  std::vector<int> widths;
};
SweepLines sweep_lines(const SweepGroup& group, int room);

// Bus bandwidth where the sweep tells it, else time; of two places the one that does not overwrite its input.
struct SweepCurve {
  std::string_view what;  // "busbw, GB/s"
  std::vector<CurvePoint> points;
  std::vector<CurveMark> marks;  // sizes of which something is said
};
SweepCurve sweep_curve(const Report& report, const SweepGroup& group);
std::vector<CurvePoint> points_of(const SweepGroup& group, std::string_view column);

}  // namespace gradsync
