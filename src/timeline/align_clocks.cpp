#include "src/timeline/align_clocks.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include "src/base/statistics.h"
#include "src/base/units.h"

namespace gradsync {
namespace {

constexpr double kMostDrift = 1e-3;  // no two clocks that count nanoseconds run further apart

// A third of the pairs stand in this band around the line.
struct Band {
  double low = 0, high = 0;
};

// A third: measured on two loaded hosts with a known offset, half of the pairs were off by 1 ms, a third by 30 us.
Band narrowest_third(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t third = (values.size() + 2) / 3;
  std::size_t best = 0;
  for (std::size_t i = 0; i + third <= values.size(); ++i)
    if (values[i + third - 1] - values[i] < values[best + third - 1] - values[best]) best = i;
  return {values[best], values[best + third - 1]};
}

// Median of the slopes between each end and the one half the run later: late ends on either side do not move it.
double typical_slope(const std::vector<double>& t, const std::vector<double>& x) {
  std::vector<double> slopes;
  const std::size_t half = t.size() / 2;
  for (std::size_t i = 0; i + half < t.size(); ++i)
    if (t[i + half] > t[i]) slopes.push_back((x[i + half] - x[i]) / (t[i + half] - t[i]));
  return median(slopes).value_or(0);
}

struct Line {
  double offset = 0, slope = 0;
};

Line least_squares(const std::vector<double>& t, const std::vector<double>& x, const Line& near, const Band& band) {
  double n = 0, st = 0, sx = 0, stt = 0, stx = 0;
  for (std::size_t i = 0; i < t.size(); ++i) {
    const double left = x[i] - near.slope * t[i];
    if (left < band.low || left > band.high) continue;
    n += 1;
    st += t[i];
    sx += left;
    stt += t[i] * t[i];
    stx += t[i] * left;
  }
  const double spread = stt - st * st / n;
  const double slope = spread > 0 ? (stx - st * sx / n) / spread : 0;
  return {(sx - slope * st) / n, near.slope + slope};
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
    if (number_.size() < 2) return {ClockState::shared, "one clock", ""};
    lines_[busiest_clock()] = ClockLine{};
    for (std::size_t placed = 1; placed < lines_.size(); ++placed)
      if (!place_next()) return {ClockState::apart, "one for each rank, not aligned", why_not()};
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
    return std::abs(lines_[*next]->drift) <= kMostDrift;
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
    return {ClockState::aligned,
            "aligned by the ends of " + std::to_string(ends_.size()) + " " + what + ", residual p90 " +
                std::to_string(std::llround(std::ceil(worst))) + " us",
            ""};
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

ClockLine fit_clock(const std::vector<EndPair>& pairs) {
  ClockLine line;
  line.origin = pairs.front().time;
  const Nanoseconds base = pairs.front().behind;  // differences from it keep their nanoseconds
  std::vector<double> t, x, left;
  for (const EndPair& pair : pairs) {
    t.push_back(static_cast<double>(pair.time - line.origin));
    x.push_back(static_cast<double>(pair.behind - base));
  }
  Line fit{0, typical_slope(t, x)};
  for (std::size_t i = 0; i < t.size(); ++i) left.push_back(x[i] - fit.slope * t[i]);
  fit = least_squares(t, x, fit, narrowest_third(left));
  for (std::size_t i = 0; i < t.size(); ++i) left[i] = std::abs(x[i] - fit.offset - fit.slope * t[i]);
  line.offset = base + static_cast<Nanoseconds>(std::llround(fit.offset));
  line.drift = fit.slope;
  line.residual_us = *quantile(left, 0.9) * 1e-3;
  return line;
}

ClockAlignment align_clocks(std::vector<RankTimeline>& ranks, CollectiveMatching& matching) {
  return Aligner(ranks, matching).run();
}

}  // namespace gradsync
