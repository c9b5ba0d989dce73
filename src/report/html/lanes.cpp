// Timelines from the series `lanes`: for each of its steps a figure, for each rank and lane a track, for each event a box
// with its name and times. What was shorter than a pixel is drawn as one.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "src/base/text.h"
#include "src/base/units.h"
#include "src/model/series_table.h"
#include "src/report/html/parts.h"
#include "src/report/html/plot.h"
#include "src/report/parts/words.h"

namespace gradsync {
namespace {

constexpr double kTrack = 22, kLabels = 190, kThinnest = 0.7;
constexpr std::string_view kMedian = "median";
constexpr double kFarthest = 1e15;  // of numbers of ranks and steps: a file may hold anything
constexpr std::size_t kMostTracks = 64, kLabelColumns = 30;

// A kind of event, or its phase where it has one (docs/metrics.md), and the colour of the class it belongs to.
struct KindLook {
  std::string_view kind, style, label;
};

constexpr KindLook kLooks[] = {{"forward", "k-forward", "forward"},
                               {"backward", "k-backward", "backward"},
                               {"optimizer", "k-optimizer", "optimiser"},
                               {"data", "k-data", "data"},
                               {"compress", "k-compress", "compress"},
                               {"decompress", "k-decompress", "decompress"},
                               {"collective", "k-comm", "communication"},
                               {"wait", "k-comm_peer_wait", "waiting for communication"},
                               {"host_sync", "k-host_sync", "host waits for the device"},
                               {"kernel", "k-compute", "kernel"},
                               {"copy", "k-memcpy", "copy"},
                               {"memset", "k-memcpy", "memset"},
                               {"sched_wait", "k-sched_irq", "waiting for a CPU"},
                               {"irq", "k-launch", "interrupt"},
                               {"softirq", "k-launch", "softirq"}};

KindLook look_of(std::string_view kind) {
  const auto* known = std::find_if(std::begin(kLooks), std::end(kLooks), [&](auto& look) { return look.kind == kind; });
  return known != std::end(kLooks) ? *known : KindLook{kind, "k-other", "other"};
}

struct LaneEvent {
  double start_us, duration_us;
  std::string kind, name;
};

using Tracks = std::map<std::pair<std::int64_t, std::string>, std::vector<LaneEvent>>;  // rank and lane

std::map<std::int64_t, Tracks> tracks_by_step(const Report& report) {
  std::map<std::int64_t, Tracks> steps;
  for (const SeriesRow& row : rows_of(report, "lanes")) {
    const auto rank = row.number("rank"), step = row.number("step"), start = row.number("start_us"),
               duration = row.number("duration_us");
    if (!rank || !step || !start || !duration || std::abs(*rank) > kFarthest || std::abs(*step) > kFarthest) continue;
    steps[static_cast<std::int64_t>(*step)][{static_cast<std::int64_t>(*rank), row.text("lane")}].push_back(
        {*start, *duration, row.text("kind"), row.text("name")});
  }
  return steps;
}

std::string time_tick(double us) { return us == 0 ? "0" : format_seconds(us * 1e-6); }

std::string tip_of(const LaneEvent& event) {
  const std::string label(look_of(event.kind).label);
  const std::string words = event.name.empty() || event.name == label ? label : label + ": " + event.name;
  return words + ", " + format_value(event.duration_us, "us") + " from " + format_value(event.start_us, "us");
}

void draw_track(const std::vector<LaneEvent>& events, double top, Plot& plot, std::set<std::string>& seen) {
  for (const LaneEvent& event : events) {
    const double left = plot.x(event.start_us), right = plot.x(event.start_us + event.duration_us);
    plot.box(std::string(look_of(event.kind).style), left, top + 2, std::max(kThinnest, right - left), kTrack - 4,
             tip_of(event));
    seen.insert(event.kind);
  }
}

std::vector<LegendEntry> legend_of(const std::set<std::string>& seen) {
  std::vector<LegendEntry> legend;
  for (const KindLook& look : kLooks)
    if (seen.contains(std::string(look.kind))) legend.push_back({std::string(look.style), std::string(look.label)});
  return legend;
}

// How the analyzer found it: the word stands in the fact lanes.median_step or lanes.worst_step.
std::string which(const Report& report, std::int64_t step) {
  for (const std::string_view name : {kMedian, std::string_view("worst")}) {
    const auto fact = report.facts.find(fmt::format("lanes.{}_step", name));
    if (fact != report.facts.end() && fact->second == std::to_string(step)) return std::string(name);
  }
  return "";
}

void draw_step(const Report& report, std::int64_t step, const Tracks& tracks, Markup& page) {
  const std::string word = which(report, step);
  double first = 0, last = 0;
  std::size_t events = 0;
  for (const auto& [track, all] : tracks)
    for (const LaneEvent& event : all) {
      first = std::min(first, event.start_us);
      last = std::max(last, event.start_us + event.duration_us);
      ++events;
    }
  const std::size_t shown = std::min(tracks.size(), kMostTracks);
  PlotSize size{900, kTrack * static_cast<double>(shown) + 52, kLabels, 32, 8, 44};
  std::string caption = "Point at a box for its name and times.";
  if (const auto clocks = report.facts.find("clocks"); clocks != report.facts.end() && clocks->second == "apart")
    caption += " The ranks share no clock: each begins at 0.";
  if (shown < tracks.size()) caption += fmt::format(" {} of {} lanes are drawn.", shown, tracks.size());
  Plot plot(page,
            {fmt::format("Timeline of step {}{}", step, word.empty() ? "" : " (" + word + ")"),
             fmt::format("{} on {}, {} long", plural(static_cast<std::int64_t>(events), "event"),
                         plural(static_cast<std::int64_t>(tracks.size()), "lane"), time_tick(last - first)),
             caption},
            {ScaleKind::linear, first, last, "", time_tick}, {ScaleKind::linear, 0, 1, "", {}}, size);
  std::set<std::string> seen;
  double top = size.top;
  std::size_t drawn = 0;
  for (const auto& [track, all] : tracks) {
    if (drawn++ == shown) break;
    const std::string label = fmt::format("rank {} {}", track.first, escape_controls(track.second));
    plot.word(kLabels - 6, top + kTrack / 2 + 4, shorten(label, kLabelColumns, "…"), "end");
    plot.path("grid", move_to(plot.left(), top + kTrack) + line_to(plot.right(), top + kTrack));
    draw_track(all, top, plot, seen);
    top += kTrack;
  }
  plot.finish(legend_of(seen));
}

}  // namespace

// The median step first: the other one is read against it.
void write_lanes(const Report& report, Markup& page) {
  const std::map<std::int64_t, Tracks> steps = tracks_by_step(report);
  for (const bool median : {true, false})
    for (const auto& [step, tracks] : steps)
      if ((which(report, step) == kMedian) == median) draw_step(report, step, tracks, page);
}

}  // namespace gradsync
