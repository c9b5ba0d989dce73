// The plan for interrupts: what moves and why, what stays, what is left alone; the lines to type; and, after --fix, what
// became of it.
#include <fmt/format.h>

#include <map>

#include "src/base/text.h"
#include "src/base/units.h"
#include "src/model/series_table.h"
#include "src/report/parts/parts.h"
#include "src/report/parts/words.h"

namespace gradsync {
namespace {

constexpr std::size_t kMostByHand = 6;  // moves whose shell lines are shown without -v
constexpr std::size_t kMostMoves = 24;  // shown without -v

std::string cpu_text(std::optional<double> cpu) { return cpu ? fmt::format("{}", static_cast<int>(*cpu)) : "?"; }

void draw_devices(const Report& report, Canvas& canvas) {
  const std::vector<SeriesRow> rows = rows_of(report, "irq_devices");
  for (std::size_t i = 0; i < rows.size(); ++i) {
    canvas.start(2, 6);
    canvas.piece(rows[i].text("device"), Paint::strong);
    const std::string targets = rows[i].text("targets");
    canvas.prose(targets.empty() ? rows[i].text("says") : "CPUs " + targets + ": " + rows[i].text("says"));
    const auto now = rows[i].number("busiest_over_mean"), planned = rows[i].number("predicted");
    if (targets.empty() || !now || !planned) continue;
    canvas.prose(fmt::format("· busiest/mean {:.2f}", *now), Paint::faint);
    if (*planned < *now) canvas.piece(no_break(fmt::format("→ {:.2f} planned", *planned)), Paint::good);
  }
}

void draw_moves(const std::vector<SeriesRow>& plan, Canvas& canvas) {
  std::size_t moves = 0;
  const bool all = canvas.options().verbosity == Verbosity::verbose;
  for (std::size_t i = 0; i < plan.size(); ++i) {
    if (plan[i].text("decision") != "move" || (++moves > kMostMoves && !all)) continue;
    canvas.start(2, 6);
    canvas.piece(no_break(plan[i].text("irq") + " " + plan[i].text("vector")));
    canvas.piece(no_break(fmt::format("CPU {} → {}", cpu_text(plan[i].number("from")), cpu_text(plan[i].number("to")))),
                 Paint::strong, 2);
    if (const auto rate = plan[i].number("rate_hz"))
      canvas.piece(no_break(format_count(*rate) + "/s"), Paint::plain, 2);
    canvas.prose(plan[i].text("reason"), Paint::faint, 2);
  }
  if (moves <= kMostMoves || all) return;
  canvas.start(2, 6);
  canvas.prose(fmt::format("and {} more: -v shows them", moves - kMostMoves), Paint::faint);
}

// Lines that do not move, by reason.
void draw_others(const std::vector<SeriesRow>& plan, Canvas& canvas) {
  std::map<std::string, std::vector<std::string>> by_reason;
  for (std::size_t i = 0; i < plan.size(); ++i) {
    const std::string decision = plan[i].text("decision");
    if (decision == "move") continue;
    std::string reason = plan[i].text("reason");
    if (const std::size_t at = reason.find("/s: below "); at != std::string::npos) reason = reason.substr(at + 4);
    by_reason[(decision == "stay" ? "stays: " : "left alone: ") + reason].push_back(plan[i].text("irq"));
  }
  for (const auto& [reason, irqs] : by_reason) {
    canvas.start(2, 6);
    canvas.prose(reason, Paint::faint);
    canvas.prose("(" + listed(irqs) + ")", Paint::faint);
  }
}

void draw_by_hand(const Report& report, const std::vector<SeriesRow>& plan, std::size_t moves, Canvas& canvas) {
  const bool all = canvas.options().verbosity == Verbosity::verbose;
  if (moves == 0 || report.series.contains("irq_changes")) return;
  canvas.heading("TO DO IT", "");
  canvas.prose("gradsync-doctor irq --fix checks that it helps, and takes it back when not; by hand:");
  if (moves > kMostByHand && !all) {
    canvas.prose("-v shows the lines", Paint::faint);
    return;
  }
  for (std::size_t i = 0; i < plan.size(); ++i) {
    if (plan[i].text("decision") != "move") continue;
    canvas.start(2, 6);
    canvas.piece(no_break(plan[i].text("do")));
    canvas.piece(no_break("# back: " + plan[i].text("undo")), Paint::faint, 2);
  }
}

Paint paint_of(const std::string& state) {
  if (state == "moved" || state == "restored") return Paint::good;
  if (state == "failed" || state == "reverted") return Paint::bad;
  return Paint::warning;
}

void draw_changes(const Report& report, Canvas& canvas) {
  const std::vector<SeriesRow> rows = rows_of(report, "irq_changes");
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const std::string state = rows[i].text("state");
    canvas.start(2, 6);
    canvas.piece(no_break(rows[i].text("irq") + " " + rows[i].text("vector")));
    canvas.piece(state, paint_of(state), 2);
    canvas.piece(no_break("CPUs " + rows[i].text("cpus")), Paint::plain, 2);
    canvas.prose(rows[i].text("says"), Paint::faint, 2);
    if (const std::string command = rows[i].text("command"); !command.empty()) {
      canvas.start(6, 6);
      canvas.piece("try: " + command, Paint::faint);
    }
  }
}

void draw_compared(const Report& report, Canvas& canvas) {
  const std::vector<SeriesRow> rows = rows_of(report, "irq_compared");
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const std::string unit = rows[i].text("unit");
    const auto value = [&](const char* column) {
      const auto number = rows[i].number(column);
      return number ? format_value(*number, unit) : std::string("?");
    };
    canvas.start(2, 6);
    canvas.prose(rows[i].text("measure"));
    canvas.piece(no_break(value("before_p50") + " → " + value("after_p50")), Paint::strong, 2);
    const auto low = rows[i].number("low"), high = rows[i].number("high");
    if (low && high)
      canvas.piece(no_break(fmt::format("(change {:+.3g} … {:+.3g}, n {} and {})", *low, *high,
                                        cpu_text(rows[i].number("before_n")), cpu_text(rows[i].number("after_n")))),
                   Paint::faint);
  }
}

}  // namespace

void draw_irq_plan(const Report& report, Canvas& canvas) {
  const std::vector<SeriesRow> plan = rows_of(report, "irq_plan");
  const auto outcome = report.facts.find("irq.outcome");
  if (plan.empty() && outcome == report.facts.end()) return;
  std::size_t moves = 0;
  for (std::size_t i = 0; i < plan.size(); ++i) moves += plan[i].text("decision") == "move" ? 1 : 0;
  if (!plan.empty()) {
    canvas.heading("PLAN", "");
    canvas.prose(moves == 0 ? "nothing moves" : plural(static_cast<std::int64_t>(moves), "interrupt") + " to move");
    draw_devices(report, canvas);
    draw_moves(plan, canvas);
    draw_others(plan, canvas);
    canvas.blank();
    draw_by_hand(report, plan, moves, canvas);
  }
  canvas.blank();
  if (outcome == report.facts.end()) return;
  canvas.heading("DONE", "");
  canvas.prose(outcome->second);
  draw_changes(report, canvas);
  draw_compared(report, canvas);
  const auto remedy = report.facts.find("irq.remedy");
  if (remedy == report.facts.end()) return;
  canvas.start(2, 6);
  canvas.prose(remedy->second);
  const std::vector<SeriesRow> lines = rows_of(report, "irq_remedy");
  for (std::size_t i = 0; i < lines.size(); ++i) {
    canvas.start(6, 8);
    canvas.piece(no_break(lines[i].text("line")));
  }
}

}  // namespace gradsync
