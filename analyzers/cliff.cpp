// Cliffs of every curve, in one of six answers and never a bare "none":
//   cliff           proved; with its cause where NCCL's log tells what it chose on either side
//   cache-capacity  proved, where the buffers of a host-staged backend outgrow a cache: not the network
//   no cliff        none of the size that would have been seen with power 0.9
//   undecided       neither of them yet
//   suspected       of a log, with the command that would prove it
//   unstable        the same call jumps: no size can be blamed
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "analyzers/analyzers.h"
#include "analyzers/cliff_cause.h"
#include "analyzers/fabric_curves.h"
#include "analyzers/find_cliffs.h"
#include "analyzers/suspect_cliffs.h"
#include "src/base/units.h"

namespace gradsync {
namespace {

const std::vector<std::string> kColumns{"operation", "type",         "load",     "answer",      "from_bytes",
                                        "to_bytes",  "drop_percent", "drop_p05", "drop_p95",    "p_value",
                                        "n",         "severity",     "cause",    "until_bytes", "source"};

// From the gravest to the best.
const std::vector<std::string> kAnswers{"cliff", "suspected", "cache-capacity", "unstable", "undecided", "no cliff"};

struct Answer {
  const FabricCurve* curve = nullptr;
  std::string answer;
  std::int64_t from = 0, to = 0, until = 0, n = 0;
  double drop = kNotMeasured, p05 = kNotMeasured, p95 = kNotMeasured, p_value = kNotMeasured;  // drops are shares
  Cause cause;
};

std::string severity_of(double drop) { return drop >= 0.5 ? "severe" : drop >= 0.25 ? "major" : "minor"; }

std::string span_of(const Answer& answer) {
  return format_bytes(static_cast<double>(answer.from)) + " … " + format_bytes(static_cast<double>(answer.to));
}

Answer over_all(const FabricCurve& curve, const char* words) {
  Answer answer{&curve, words, curve.sizes.front().bytes, curve.sizes.back().bytes};
  answer.until = answer.to;
  answer.n = static_cast<std::int64_t>(curve.fewest_repeats());
  return answer;
}

// Sizes with enough repeats; others have no distribution.
FabricCurve repeated(const FabricCurve& curve) {
  FabricCurve kept = curve;
  std::erase_if(kept.sizes, [](const SizeSample& size) { return size.us.size() < kFewestRepeats; });
  return kept;
}

class Answers {
 public:
  explicit Answers(const Inputs& inputs) : inputs_(inputs) {}

  void add_live(const FabricCurve& measured) {
    const FabricCurve curve = repeated(measured);
    if (curve.sizes.size() < 2) return add(over_all(measured, "undecided"));
    const auto& sizes = curve.sizes;
    const CliffSearch search = find_cliffs(sizes);
    for (const Cliff& cliff : search.proved) {
      Answer answer{&measured,
                    "cliff",
                    sizes[cliff.before].bytes,
                    sizes[cliff.at].bytes,
                    sizes[cliff.last].bytes,
                    cliff.n,
                    cliff.drop,
                    cliff.drop_p05,
                    cliff.drop_p95,
                    cliff.p_value,
                    {}};
      answer.cause = cause_of(inputs_, measured, answer.from, answer.to);
      if (answer.cause.kind == "cache") answer.answer = "cache-capacity";
      add(answer);
    }
    if (search.unstable.size() >= 2) {
      Answer answer = over_all(measured, "unstable");
      answer.from = sizes[search.unstable.front()].bytes;
      answer.to = answer.until = sizes[search.unstable.back()].bytes;
      return add(answer);
    }
    if (!search.proved.empty()) return;
    const bool seen = search.smallest_visible() <= kMustBeVisible;
    Answer answer = over_all(measured, search.open.empty() && seen ? "no cliff" : "undecided");
    if (!search.open.empty()) {
      const Cliff& worst = *std::max_element(search.open.begin(), search.open.end(),
                                             [](const Cliff& a, const Cliff& b) { return a.drop < b.drop; });
      answer = {&measured,
                "undecided",
                sizes[worst.before].bytes,
                sizes[worst.at].bytes,
                sizes[worst.at].bytes,
                worst.n,
                worst.drop,
                worst.drop_p05,
                worst.drop_p95,
                worst.p_value,
                {}};
    } else if (seen) {
      answer.drop = search.smallest_visible();
    }
    add(answer);
  }

  void add_log(const std::vector<FabricCurve>& columns, const FabricCurve& shown) {
    const LogAnswer found = suspect_cliffs(columns);
    for (const Suspicion& suspicion : found.suspected) {
      Answer answer{&shown,
                    "suspected",
                    suspicion.from_bytes,
                    suspicion.to_bytes,
                    suspicion.until_bytes,
                    suspicion.columns,
                    suspicion.drop};
      answer.cause = cause_of(inputs_, shown, answer.from, answer.to);
      add(answer);
    }
    if (found.unstable) {
      Answer answer{&shown, "unstable", found.unstable->from_bytes, found.unstable->to_bytes};
      answer.until = answer.to;
      answer.n = static_cast<std::int64_t>(columns.size());
      return add(answer);
    }
    if (found.suspected.empty()) add(over_all(shown, "undecided"));
  }

  void write(Conclusions& conclusions) const {
    Series series{"fabric_cliffs", kColumns, {}};
    for (const Answer& answer : all_) series.rows.push_back(row_of(answer));
    if (!series.rows.empty()) conclusions.series["fabric_cliffs"] = std::move(series);
    add_operations(conclusions);
    add_gravest(conclusions);
  }

 private:
  void add(const Answer& answer) { all_.push_back(answer); }

  static std::vector<Cell> row_of(const Answer& answer) {
    const auto percent = [](double share) { return 100 * share; };
    const bool drops = answer.answer == "cliff" || answer.answer == "suspected" || answer.answer == "cache-capacity";
    return {answer.curve->operation,
            answer.curve->type,
            answer.curve->load,
            answer.answer,
            answer.from,
            answer.to,
            percent(answer.drop),
            percent(answer.p05),
            percent(answer.p95),
            answer.p_value,
            answer.n,
            drops ? severity_of(answer.drop) : std::string(),
            answer.cause.text,
            answer.until,
            answer.curve->source};
  }

  static std::size_t gravity(const Answer& answer) {
    return static_cast<std::size_t>(std::find(kAnswers.begin(), kAnswers.end(), answer.answer) - kAnswers.begin());
  }
  static bool graver(const Answer& a, const Answer& b) {
    return gravity(a) != gravity(b) ? gravity(a) < gravity(b) : std::isfinite(a.drop) && !(a.drop <= b.drop);
  }

  static std::string option_bytes(std::int64_t bytes) {
    for (const auto& [factor, letter] :
         {std::pair{1LL << 30, "G"}, std::pair{1LL << 20, "M"}, std::pair{1LL << 10, "K"}})
      if (bytes >= factor && bytes % factor == 0) return std::to_string(bytes / factor) + letter;
    return std::to_string(bytes);
  }

  // The command that measures around the sizes in question often enough to decide.
  static std::string proof(const Answer& answer) {
    const std::int64_t least = answer.curve->sizes.front().bytes, most = answer.curve->sizes.back().bytes;
    return "gradsync-doctor sweep --op " + answer.curve->operation + " --min " +
           option_bytes(std::max(answer.from / 4, least)) + " --max " + option_bytes(std::min(answer.until * 4, most)) +
           " --repeat 20";
  }

  static std::string sentence(const Answer& answer) {
    const std::string drop = std::isfinite(answer.drop) ? format_percent(100 * answer.drop) : "";
    const std::string cause = answer.cause.text.empty() ? "" : "; " + answer.cause.text;
    if (answer.answer == "cliff" || answer.answer == "cache-capacity")
      return fmt::format("{} at {}: bandwidth drops by {} ({} … {}), p {:.2g}{}", answer.answer, span_of(answer), drop,
                         format_percent(100 * answer.p05), format_percent(100 * answer.p95), answer.p_value, cause);
    if (answer.answer == "suspected")
      return fmt::format("suspected at {}: bandwidth drops by {} in {} columns, which prove nothing{}", span_of(answer),
                         drop, answer.n, cause);
    if (answer.answer == "unstable")
      return "unstable from " + span_of(answer) + ": the same call jumps four-fold or more";
    if (answer.answer == "no cliff") return "no cliff ≥ " + drop + " from " + span_of(answer);
    if (static_cast<std::size_t>(answer.n) < kFewestRepeats)
      return "undecided: too few times for each size to prove or exclude one";
    return drop.empty() ? "undecided: too noisy to exclude even large ones"
                        : "undecided at " + span_of(answer) + ": a drop of " + drop + " is neither proved nor excluded";
  }

  std::map<std::string, Answer> gravest_by_operation() const {
    std::map<std::string, Answer> gravest;
    for (const Answer& answer : all_) {
      if (!answer.curve->load.empty()) continue;
      const auto [entry, added] = gravest.try_emplace(answer.curve->operation, answer);
      if (!added && graver(answer, entry->second)) entry->second = answer;
    }
    return gravest;
  }

  // A proved cliff has its drop, a proved absence 0 with the smallest drop that would have been seen; the rest nothing.
  static std::optional<Metric> metric_of(const Answer& answer) {
    if (answer.answer != "cliff" && answer.answer != "no cliff" && answer.answer != "cache-capacity")
      return std::nullopt;
    Metric metric;
    metric.n = answer.n;
    metric.source = answer.curve->live() ? "sweep" : "nccl_tests";
    if (answer.answer == "cliff") metric.value = 100 * answer.drop;
    if (answer.answer == "no cliff") metric.resolution = 100 * answer.drop;
    return metric;
  }

  void add_operations(Conclusions& conclusions) const {
    for (const auto& [operation, answer] : gravest_by_operation()) {
      conclusions.facts["sweep.cliff." + operation] = sentence(answer);
      std::optional<Metric> metric = metric_of(answer);
      if (!metric) continue;
      metric->name = "fabric." + operation + ".cliff_percent";
      conclusions.metrics.add(*metric);
    }
  }

  void add_gravest(Conclusions& conclusions) const {
    const std::map<std::string, Answer> by_operation = gravest_by_operation();
    if (by_operation.empty()) return;
    const Answer& gravest =
        std::min_element(by_operation.begin(), by_operation.end(), [](const auto& a, const auto& b) {
          return graver(a.second, b.second);
        })->second;
    Facts& facts = conclusions.facts;
    facts["sweep.cliff"] = gravest.answer;
    facts["sweep.cliff.where"] = gravest.curve->operation + " of " + span_of(gravest);
    if (gravest.answer == "cliff" || gravest.answer == "suspected") facts["sweep.cliff.kind"] = gravest.cause.kind;
    if (!gravest.cause.text.empty()) facts["sweep.cliff.cause"] = gravest.cause.text;
    if (gravest.answer == "suspected" || gravest.answer == "undecided") facts["sweep.prove"] = proof(gravest);
    add_sum(by_operation, gravest, conclusions.metrics);
  }

  // Of all operations: the worst drop that was proved; 0 only when each of them was cleared.
  static void add_sum(const std::map<std::string, Answer>& by_operation, const Answer& gravest, MetricSet& metrics) {
    if (gravest.answer == "suspected") {
      Metric metric;
      metric.name = "fabric.suspected_drop_percent";
      metric.value = 100 * gravest.drop;
      metric.n = gravest.n;
      metric.source = "nccl_tests";
      metrics.add(metric);
    }
    std::optional<Metric> metric = metric_of(gravest);
    const bool every = std::all_of(by_operation.begin(), by_operation.end(),
                                   [](const auto& entry) { return metric_of(entry.second).has_value(); });
    if (!metric || (gravest.answer != "cliff" && !every)) return;
    for (const auto& [operation, answer] : by_operation)
      if (const auto one = metric_of(answer); one && one->resolution && metric->resolution)
        metric->resolution = std::max(*metric->resolution, *one->resolution);
    metric->name = "fabric.cliff_percent";
    metrics.add(*metric);
  }

  const Inputs& inputs_;
  std::vector<Answer> all_;
};

// The file, without the run behind it.
std::string file_of(const std::string& source) {
  const std::size_t run = source.rfind(" run ");
  return run == std::string::npos ? source : source.substr(0, run);
}

// Columns of a log that should agree: places and runs of one file; files with one column each are runs of each other.
std::vector<std::vector<FabricCurve>> log_columns(const std::vector<FabricCurve>& curves) {
  using Key = std::tuple<std::string, std::string, std::string, double, std::string>;
  std::map<Key, std::vector<FabricCurve>> by_file;
  for (const FabricCurve& curve : curves)
    if (!curve.live())
      by_file[{curve.operation, curve.type, curve.load, std::isnan(curve.ranks) ? 0 : curve.ranks,
               file_of(curve.source)}]
          .push_back(curve);
  std::vector<std::vector<FabricCurve>> groups;
  std::map<Key, std::vector<FabricCurve>> alone;
  for (auto& [key, columns] : by_file) {
    Key of_all = key;
    std::get<4>(of_all).clear();
    if (columns.size() > 1)
      groups.push_back(std::move(columns));
    else
      alone[of_all].push_back(columns.front());
  }
  for (auto& [key, columns] : alone) groups.push_back(std::move(columns));
  return groups;
}

class CliffAnalyzer final : public Analyzer {
 public:
  std::string_view name() const override { return "cliff"; }
  void summarise(const RankTimeline&, const Inputs&, Summary&) const override {}
  void conclude(const Summary&, const Inputs& inputs, Conclusions& conclusions) const override {
    const std::vector<FabricCurve> curves = fabric_curves(inputs.series, live_ranks(inputs));
    const std::vector<std::vector<FabricCurve>> logs = log_columns(curves);
    Answers answers(inputs);
    for (const FabricCurve& curve : curves)
      if (curve.live()) answers.add_live(curve);
    for (const std::vector<FabricCurve>& columns : logs) answers.add_log(columns, columns.front());
    answers.write(conclusions);
  }
};

}  // namespace

std::unique_ptr<Analyzer> make_cliff() { return std::make_unique<CliffAnalyzer>(); }

}  // namespace gradsync
