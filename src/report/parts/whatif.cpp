// What each remedy would save, best first, and how to send each bucket:
//
//   no_compression       −47.1 ms predicted (40.2 … 52.0), probability 100 %   worth trying
//     leave the gradient as it is: no compression hook
//   no_host_sync + bucket_size together −9.1 ms predicted (7.0 … 10.2)
//   intervals: at least 5 % of the step to both sides: …
#include <fmt/format.h>

#include <cmath>

#include "src/base/units.h"
#include "src/model/series_table.h"
#include "src/report/parts/parts.h"
#include "src/report/parts/words.h"

namespace gradsync {
namespace {

constexpr int kSavingColumn = 22;

}  // namespace

std::string remedy_saving(const SeriesRow& row) {
  const auto p50 = row.number("p50");
  if (!p50 || !std::isfinite(*p50)) return "could not judge";
  if (row.text("kind") == "bound") return "at most " + format_ms(*p50);
  return saving_text({SavingKind::predicted, "ms", row.number("p05").value_or(*p50), *p50,
                      row.number("p95").value_or(*p50), row.number("probability")});
}

namespace {

void draw_remedy(const SeriesRow& row, Canvas& canvas) {
  canvas.start(1, 3);
  canvas.piece(row.text("remedy"), Paint::strong);
  canvas.tab(canvas.narrow() ? 0 : kSavingColumn);
  const bool worth = row.text("worth_trying") == "yes";
  canvas.piece(remedy_saving(row), worth ? Paint::good : Paint::plain);
  if (worth) canvas.piece("worth trying", Paint::good, 3);
  if (canvas.options().verbosity == Verbosity::quiet) return;
  canvas.start(3, 5);
  canvas.prose(row.text("needs") + hint_text(row.text("hint")), Paint::faint);
}

void draw_bucket(const SeriesRow& row, Canvas& canvas) {
  const auto ms = [&](std::string_view column) { return format_ms(row.number(column).value_or(0)); };
  canvas.start(1, 3);
  canvas.piece(no_break(fmt::format("bucket {:.0f}", row.number("bucket").value_or(0))), Paint::strong);
  canvas.piece(no_break(format_bytes(row.number("bytes").value_or(0))));
  canvas.piece(row.text("method"), Paint::strong, 3);
  canvas.piece(
      fmt::format("coding {}, transfer {} ({} dense)", ms("coding_ms"), ms("transfer_ms"), ms("dense_transfer_ms")),
      Paint::faint, 3);
}

}  // namespace

void draw_whatif(const Report& report, Canvas& canvas) {
  const std::vector<SeriesRow> remedies = rows_of(report, "whatif");
  if (!remedies.empty()) {
    canvas.start(0, 2);
    canvas.piece("WHAT EACH REMEDY WOULD SAVE, PER STEP", Paint::strong);
  }
  for (const SeriesRow& row : remedies) draw_remedy(row, canvas);
  if (const std::string all = together_text(report); !all.empty()) {
    canvas.start(1, 3);
    canvas.prose(all, Paint::good);
  }
  if (const auto record = report.facts.find("whatif.record");
      record != report.facts.end() && canvas.options().verbosity != Verbosity::quiet) {
    canvas.start(1, 3);
    canvas.prose("intervals: " + record->second, Paint::faint);
  }
  const std::vector<SeriesRow> buckets = rows_of(report, "bucket_plan");
  if (buckets.empty() || canvas.options().verbosity == Verbosity::quiet) return;
  canvas.blank();
  canvas.start(0, 2);
  canvas.piece("EACH BUCKET ON THIS FABRIC", Paint::strong);
  for (const SeriesRow& row : buckets) draw_bucket(row, canvas);
}

}  // namespace gradsync
