#include "src/timeline/align_clocks.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include "src/base/statistics.h"
#include "src/base/units.h"

namespace gradsync {
namespace {

constexpr double kMostDrift = 200e-6;  // a crystal is right to 100 ppm or better, and there are two
constexpr double kNotAClock = 5 * kMostDrift;
constexpr std::size_t kPointsTried = 48;    // every two of them give a slope
constexpr std::size_t kPointsJudged = 128;  // and these tell how good it is

struct Points {
  std::vector<double> t, x;

  // At most `most` of them, evenly spaced.
  Points thinned(std::size_t most) const {
    if (t.size() <= most) return *this;
    Points few;
    for (std::size_t i = 0; i < most; ++i) {
      const std::size_t at = i * (t.size() - 1) / (most - 1);
      few.t.push_back(t[at]);
      few.x.push_back(x[at]);
    }
    return few;
  }
};

// The narrowest band along a slope that holds a third of the points.
// A third: in one recording of two hosts with a known offset, half of the points were off by 1 ms, a third by 30 us.
struct Band {
  double slope = 0, low = 0, high = 0;
  double width() const { return high - low; }
};

Band narrowest_third(const Points& points, double slope) {
  std::vector<double> left(points.t.size());
  for (std::size_t i = 0; i < left.size(); ++i) left[i] = points.x[i] - slope * points.t[i];
  std::sort(left.begin(), left.end());
  const std::size_t third = (left.size() + 2) / 3;
  std::size_t best = 0;
  for (std::size_t i = 0; i + third <= left.size(); ++i)
    if (left[i + third - 1] - left[i] < left[best + third - 1] - left[best]) best = i;
  return {slope, left[best], left[best + third - 1]};
}

// Of all slopes that a clock can have, the one with the narrowest band; of equal ones the flattest. Late ends, however
// many and however late, cannot tilt it while a third of the points is dense.
Band best_band(const Points& points) {
  const Points judged = points.thinned(kPointsJudged), tried = points.thinned(kPointsTried);
  Band best = narrowest_third(judged, 0);
  for (std::size_t i = 0; i < tried.t.size(); ++i)
    for (std::size_t j = i + 1; j < tried.t.size(); ++j) {
      const double slope = (tried.x[j] - tried.x[i]) / (tried.t[j] - tried.t[i]);
      if (!(std::abs(slope) <= kMostDrift)) continue;  // nor two ends of one moment
      const Band band = narrowest_third(judged, slope);
      if (band.width() < best.width() || (band.width() == best.width() && std::abs(slope) < std::abs(best.slope)))
        best = band;
    }
  return best;
}

struct Line {
  double offset = 0, slope = 0;
};

// Least squares through the points of the band; its middle where that would tilt it further than a clock goes.
Line line_through(const Points& points, const Band& band) {
  double n = 0, st = 0, sx = 0, stt = 0, stx = 0;
  for (std::size_t i = 0; i < points.t.size(); ++i) {
    const double t = points.t[i], left = points.x[i] - band.slope * t;
    if (left < band.low || left > band.high) continue;
    n += 1;
    st += t;
    sx += left;
    stt += t * t;
    stx += t * left;
  }
  const double spread = stt - st * st / n;
  const double slope = spread > 0 ? (stx - st * sx / n) / spread : 0;
  if (!(n > 2) || std::abs(band.slope + slope) > kMostDrift) return {(band.low + band.high) / 2, band.slope};
  return {(sx - slope * st) / n, band.slope + slope};
}

// Ends that keep a steady distance, but along a slope that no clock has: they were matched wrongly, or are no clock's.
bool no_clock(const Points& points, const Band& best) {
  std::vector<double> slopes;
  const std::size_t half = points.t.size() / 2;
  for (std::size_t i = 0; i + half < points.t.size(); ++i)
    if (points.t[i + half] > points.t[i])
      slopes.push_back((points.x[i + half] - points.x[i]) / (points.t[i + half] - points.t[i]));
  const double typical = median(slopes).value_or(0);
  return std::abs(typical) > kNotAClock && narrowest_third(points, typical).width() < best.width() / 4;
}

bool is_moment(std::string_view key) {
  return key == "compute_end_ns" || key == "clock_open_ns" || key == "clock_close_ns" || key.ends_with("_start_ns") ||
         key.ends_with("_end_ns");
}

void move(RankTimeline& rank, const ClockLine& line) {
  for (Event& event : rank.events) {
    event.start = line.map(event.start);
    if (event.end != 0) event.end = line.map(event.end);
  }
  for (Event& event : rank.host_events) {
    event.start = line.map(event.start);
    event.end = line.map(event.end);
  }
  for (StepSpan& step : rank.steps) {
    step.start = line.map(step.start);
    step.end = line.map(step.end);
  }
  for (auto& [reference, attributes] : rank.integers)
    for (auto& [key, value] : attributes)
      if (value > 0 && is_moment(rank.name(key))) value = line.map(value);
  for (Nanoseconds* time : {&rank.process.monotonic, &rank.process.exit_time})
    if (*time != 0) *time = line.map(*time);
}

std::string plural(std::string_view operation) {
  std::string text(operation);
  std::replace(text.begin(), text.end(), '_', '-');
  return text + "s";
}

class Aligner {
 public:
  Aligner(std::vector<RankTimeline>& ranks, CollectiveMatching& matching) : ranks_(ranks), matching_(matching) {
    for (const RankTimeline& rank : ranks_)
      clock_of_.push_back(number_.try_emplace(rank.clock, number_.size()).first->second);
    lines_.resize(number_.size());
    collect_ends();
  }

  ClockAlignment run() {
    if (number_.size() < 2) return {ClockState::shared, "one clock", "", {}};
    lines_[busiest_clock()] = ClockLine{};
    for (std::size_t placed = 1; placed < lines_.size(); ++placed)
      if (!place_next()) return {ClockState::apart, "one for each rank, not aligned", why_not(), {}};
    return move_all();
  }

 private:
  using Ends = std::vector<std::optional<Nanoseconds>>;  // by clock: the earliest that its ranks saw

  void collect_ends() {
    for (const MatchedCollective& collective : matching_.collectives) {
      if (collective.ends == gradsync::Ends::apart) continue;
      Ends ends(number_.size());
      for (const CollectiveMember& member : collective.members) {
        auto& end = ends[clock_of_[member.rank]];
        end = end ? std::min(*end, member.time.end) : member.time.end;
      }
      if (std::count_if(ends.begin(), ends.end(), [](const auto& end) { return end.has_value(); }) < 2) continue;
      ends_.push_back(std::move(ends));
      ++operations_[std::string(collective.operation)];
    }
  }

  std::size_t busiest_clock() const {
    std::vector<std::size_t> seen(number_.size());
    for (const Ends& ends : ends_)
      for (std::size_t c = 0; c < ends.size(); ++c) seen[c] += ends[c].has_value();
    return static_cast<std::size_t>(std::max_element(seen.begin(), seen.end()) - seen.begin());
  }

  // Earliest moment at which the clocks that are placed saw the end.
  std::optional<Nanoseconds> placed_end(const Ends& ends) const {
    std::optional<Nanoseconds> earliest;
    for (std::size_t c = 0; c < ends.size(); ++c) {
      if (!ends[c] || !lines_[c]) continue;
      const Nanoseconds end = lines_[c]->map(*ends[c]);
      earliest = earliest ? std::min(*earliest, end) : end;
    }
    return earliest;
  }

  std::vector<EndPair> pairs_of(std::size_t clock) const {
    std::vector<EndPair> pairs;
    for (const Ends& ends : ends_)
      if (ends[clock])
        if (const auto placed = placed_end(ends)) pairs.push_back({*ends[clock], *ends[clock] - *placed});
    std::sort(pairs.begin(), pairs.end(), [](const EndPair& a, const EndPair& b) { return a.time < b.time; });
    return pairs;
  }

  // The clock that shares most ends with those that are placed, be it through one of them (tensor and data parallel).
  bool place_next() {
    std::optional<std::size_t> next;
    std::vector<EndPair> most;
    for (std::size_t c = 0; c < lines_.size(); ++c) {
      if (lines_[c]) continue;
      std::vector<EndPair> pairs = pairs_of(c);
      if (next && pairs.size() <= most.size()) continue;
      next = c;
      most = std::move(pairs);
    }
    fewest_ = most.size();
    if (most.size() < kFewestSharedEnds) return false;
    lines_[*next] = fit_clock(most);
    return lines_[*next].has_value();
  }

  std::string why_not() const {
    if (fewest_ >= kFewestSharedEnds)
      return "the shared ends do not keep their distance: clocks that differ do not explain it";
    return "only " + std::to_string(fewest_) + " ends of all-reduces, all-gathers or barriers are shared by all, " +
           std::to_string(kFewestSharedEnds) + " are needed";
  }

  ClockAlignment move_all() {
    double worst = 0;
    for (std::size_t r = 0; r < ranks_.size(); ++r) {
      const ClockLine& line = *lines_[clock_of_[r]];
      if (line.offset != 0 || line.drift != 0) move(ranks_[r], line);
      worst = std::max(worst, line.residual_us);
    }
    // The clock that the others were placed on has no line of its own; it is as far from them as they from it.
    for (std::size_t r = 0; r < ranks_.size(); ++r) {
      const double own = lines_[clock_of_[r]]->residual_us;
      auto& residual = ranks_[r].clock_residual_us;
      residual = std::max(residual.value_or(0), own > 0 ? own : worst);
    }
    for (MatchedCollective& collective : matching_.collectives)
      for (CollectiveMember& member : collective.members) {
        const ClockLine& line = *lines_[clock_of_[member.rank]];
        member.time = {line.map(member.time.start), line.map(member.time.end)};
      }
    const std::string what = operations_.size() == 1 ? plural(operations_.begin()->first) : "collectives";
    std::map<std::string, ClockLine> lines;
    for (const auto& [clock, number] : number_) lines[clock] = *lines_[number];
    return {ClockState::aligned,
            "aligned by the ends of " + std::to_string(ends_.size()) + " " + what + ", residual p90 " +
                std::to_string(std::llround(std::ceil(worst))) + " us",
            "", std::move(lines)};
  }

  std::vector<RankTimeline>& ranks_;
  CollectiveMatching& matching_;
  std::map<std::string, std::size_t> number_;  // by first appearance: the ranks are in order
  std::vector<std::size_t> clock_of_;          // by rank
  std::vector<Ends> ends_;
  std::map<std::string, std::int64_t> operations_;
  std::vector<std::optional<ClockLine>> lines_;
  std::size_t fewest_ = 0;
};

}  // namespace

Nanoseconds ClockLine::map(Nanoseconds time) const {
  // Stamps of a damaged file may be anything: the sums wrap.
  const auto raw = [](Nanoseconds value) { return static_cast<std::uint64_t>(value); };
  const auto since = static_cast<Nanoseconds>(raw(time) - raw(origin));
  const auto drifted = static_cast<Nanoseconds>(std::llround(drift * static_cast<double>(since)));
  return static_cast<Nanoseconds>(raw(time) - raw(offset) - raw(drifted));
}

std::optional<ClockLine> fit_clock(const std::vector<EndPair>& pairs) {
  ClockLine line;
  line.origin = pairs.front().time;
  const Nanoseconds base = pairs.front().behind;  // differences from it keep their nanoseconds
  Points points;
  for (const EndPair& pair : pairs) {
    points.t.push_back(static_cast<double>(pair.time - line.origin));
    points.x.push_back(static_cast<double>(pair.behind - base));
  }
  const Band band = best_band(points);
  if (no_clock(points, band)) return std::nullopt;
  const Line fit = line_through(points, band);
  std::vector<double> left;
  for (std::size_t i = 0; i < points.t.size(); ++i)
    left.push_back(std::abs(points.x[i] - fit.offset - fit.slope * points.t[i]));
  line.offset = base + static_cast<Nanoseconds>(std::llround(fit.offset));
  line.drift = fit.slope;
  line.residual_us = *quantile(left, 0.9) * 1e-3;
  return line;
}

ClockAlignment align_clocks(std::vector<RankTimeline>& ranks, CollectiveMatching& matching) {
  return Aligner(ranks, matching).run();
}

}  // namespace gradsync
