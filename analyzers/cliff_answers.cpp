#include "analyzers/cliff_answers.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <tuple>

#include "analyzers/find_cliffs.h"
#include "analyzers/suspect_cliffs.h"

namespace gradsync {
namespace {

constexpr std::array<std::string_view, 6> kAnswers{"cliff",    "suspected", "cache-capacity",
                                                   "unstable", "undecided", "no cliff"};

// About all sizes of the curve, until one of the functions below says less.
CliffAnswer about(const FabricCurve& curve, std::string answer) {
  CliffAnswer made{std::move(answer), curve.operation, curve.type, curve.load, curve.source};
  made.least = made.from = curve.sizes.front().bytes;
  made.most = made.to = made.until = curve.sizes.back().bytes;
  made.n = static_cast<std::int64_t>(curve.fewest_repeats());
  return made;
}

CliffAnswer about_sizes(const FabricCurve& curve, std::string answer, std::int64_t from, std::int64_t to) {
  CliffAnswer made = about(curve, std::move(answer));
  made.from = from;
  made.to = made.until = to;
  return made;
}

CliffAnswer about_pair(const FabricCurve& curve, std::string answer, const Cliff& cliff) {
  CliffAnswer made =
      about_sizes(curve, std::move(answer), curve.sizes[cliff.before].bytes, curve.sizes[cliff.at].bytes);
  made.until = curve.sizes[cliff.last].bytes;
  made.n = cliff.n;
  made.drop = cliff.drop;
  made.p05 = cliff.drop_p05;
  made.p95 = cliff.drop_p95;
  made.p_value = cliff.p_value;
  return made;
}

// Neither proved nor unstable.
CliffAnswer exclusion(const FabricCurve& curve, const CliffSearch& search) {
  if (!search.open.empty()) {
    const auto smaller = [](const Cliff& a, const Cliff& b) { return a.drop < b.drop; };
    return about_pair(curve, "undecided", *std::max_element(search.open.begin(), search.open.end(), smaller));
  }
  const double visible = search.smallest_visible();
  CliffAnswer answer = about(curve, visible <= kMustBeVisible ? "no cliff" : "undecided");
  if (visible <= kMustBeVisible) answer.drop = visible;
  return answer;
}

void add_live(const Inputs& inputs, const FabricCurve& measured, std::vector<CliffAnswer>& answers) {
  FabricCurve curve = measured;  // sizes with enough repeats: others have no distribution
  std::erase_if(curve.sizes, [](const SizeSample& size) { return size.us.size() < kFewestRepeats; });
  if (curve.sizes.size() < 2) return answers.push_back(about(measured, "undecided"));
  const CliffSearch search = find_cliffs(curve.sizes);
  for (const Cliff& cliff : search.proved) {
    CliffAnswer answer = about_pair(curve, "cliff", cliff);
    answer.cause = cause_of(inputs, curve, answer.from, answer.to);
    if (answer.cause.kind == "cache") answer.answer = "cache-capacity";
    answers.push_back(std::move(answer));
  }
  if (search.unstable.size() >= 2)
    answers.push_back(about_sizes(curve, "unstable", curve.sizes[search.unstable.front()].bytes,
                                  curve.sizes[search.unstable.back()].bytes));
  else if (search.proved.empty())
    answers.push_back(exclusion(curve, search));
}

void add_log(const Inputs& inputs, const std::vector<FabricCurve>& columns, std::vector<CliffAnswer>& answers) {
  const FabricCurve& shown = columns.front();
  const LogAnswer found = suspect_cliffs(columns);
  for (const Suspicion& suspicion : found.suspected) {
    CliffAnswer answer = about_sizes(shown, "suspected", suspicion.from_bytes, suspicion.to_bytes);
    answer.until = suspicion.until_bytes;
    answer.n = suspicion.columns;
    answer.drop = suspicion.drop;
    answer.cause = cause_of(inputs, shown, answer.from, answer.to);
    answers.push_back(std::move(answer));
  }
  if (found.unstable) {
    answers.push_back(about_sizes(shown, "unstable", found.unstable->from_bytes, found.unstable->to_bytes));
    answers.back().n = static_cast<std::int64_t>(columns.size());
  } else if (found.suspected.empty()) {
    answers.push_back(about(shown, "undecided"));
  }
}

std::string file_of(const std::string& source) {
  const std::size_t run = source.rfind(" run ");
  return run == std::string::npos ? source : source.substr(0, run);
}

std::vector<std::vector<FabricCurve>> columns_of_logs(const std::vector<FabricCurve>& curves) {
  using Key = std::tuple<std::string, std::string, std::string, double, std::string>;
  std::map<Key, std::vector<FabricCurve>> by_file, alone;
  for (const FabricCurve& curve : curves)
    if (!curve.live())
      by_file[{curve.operation, curve.type, curve.load, std::isnan(curve.ranks) ? 0 : curve.ranks,
               file_of(curve.source)}]
          .push_back(curve);
  std::vector<std::vector<FabricCurve>> groups;
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

std::size_t gravity(const CliffAnswer& answer) {
  return static_cast<std::size_t>(std::find(kAnswers.begin(), kAnswers.end(), answer.answer) - kAnswers.begin());
}

}  // namespace

std::vector<CliffAnswer> cliff_answers(const Inputs& inputs) {
  std::vector<CliffAnswer> answers;
  const std::vector<FabricCurve> curves = judged_curves(fabric_curves(inputs.series, live_ranks(inputs)));
  for (const FabricCurve& curve : curves)
    if (curve.live()) add_live(inputs, curve, answers);
  for (const std::vector<FabricCurve>& columns : columns_of_logs(curves)) add_log(inputs, columns, answers);
  return answers;
}

bool graver(const CliffAnswer& a, const CliffAnswer& b) {
  if (gravity(a) != gravity(b)) return gravity(a) < gravity(b);
  return std::isfinite(a.drop) && !(a.drop <= b.drop);
}

}  // namespace gradsync
