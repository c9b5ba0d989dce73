#include "collectors/import/nccl_sweep.h"

#include <cmath>

#include "src/model/sweep_columns.h"

namespace gradsync {
namespace {

Cell whole(double value) {
  if (!std::isfinite(value) || std::fabs(value) > 9e18) return kUnknownNumber;
  return static_cast<std::int64_t>(value);
}

}  // namespace

Series& sweep_series(SeriesSet& series, const std::string& name) {
  Series& table = series[name];
  if (table.columns.empty()) {
    table.name = name;
    table.columns = kSweepColumns;
  }
  return table;
}

std::vector<Cell> sweep_cells(const SweepRow& row, const std::string& source, double ranks) {
  return {row.bytes,        whole(row.count), row.type,   whole(row.n), row.p10_us,
          row.p50_us,       row.p90_us,       row.p99_us, row.algbw,    row.busbw,
          whole(row.wrong), kUnknownNumber,   row.place,  source,       whole(ranks)};
}

void add_run(const SweepRun& run, SeriesSet& series) {
  Series& table = sweep_series(series, "sweep." + run.operation);
  for (const SweepRow& row : run.rows) table.rows.push_back(sweep_cells(row, run.source, run.ranks));
  Series& runs = series["sweep_runs"];
  if (runs.columns.empty()) {
    runs.name = "sweep_runs";
    runs.columns = {"operation", "operation_from", "source",
                    "ranks",     "nodes",          "iterations",
                    "rows",      "out_of_bounds",  "average_busbw_gbytes_per_s"};
  }
  runs.rows.push_back({run.operation, run.operation_from, run.source, whole(run.ranks), whole(run.nodes),
                       whole(run.iterations), static_cast<std::int64_t>(run.rows.size()), whole(run.out_of_bounds),
                       run.average_busbw});
}

}  // namespace gradsync
