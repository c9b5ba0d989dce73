// What share of their CPU time processes and threads spend in copies between user and kernel memory, from the series
// `usercopy`, with the interval that the number of samples leaves; and what of the step that is. First half of the join:
// host_copies.h.
#include <algorithm>
#include <map>

#include "analyzers/analyzers.h"
#include "analyzers/host_copies.h"
#include "analyzers/rows.h"
#include "src/base/statistics.h"
#include "src/base/units.h"
#include "src/model/series_table.h"

namespace gradsync {
namespace {

constexpr std::int64_t kFewestSamples = 200;  // of a process: the interval of 15 % is then 5 points to each side
constexpr std::size_t kMostScopes = 32;
constexpr std::int64_t kFewestCovered = 3;  // steps

struct Copies {
  std::string scope, name, source;
  std::int64_t samples = 0, copies = 0;
  std::map<std::string, std::int64_t> by;
};

struct Tables {
  std::map<std::pair<std::string, std::int64_t>, Copies> processes, threads;  // by machine and number
};

Tables read(const Series& series) {
  Tables tables;
  const SeriesTable table(series);
  const auto whole = [&](const auto& row, const char* column) {
    return static_cast<std::int64_t>(table.number(row, column).value_or(0));
  };
  for (const auto& row : table.rows()) {
    const std::string machine = table.text(row, "machine"), by = table.text(row, "by");
    const std::int64_t pid = whole(row, "pid"), tid = whole(row, "tid"), copies = whole(row, "copies");
    Copies& process = tables.processes[{machine, pid}];
    process.name = table.text(row, "process") + ":" + std::to_string(pid);
    process.scope = "process:" + process.name;
    const auto [thread, is_new] = tables.threads.try_emplace({machine, tid});
    if (is_new) {  // a thread's samples stand in each of its rows
      thread->second.name = table.text(row, "thread") + ":" + std::to_string(tid);
      thread->second.scope = "thread:" + thread->second.name;
      thread->second.samples = whole(row, "samples");
      process.samples += thread->second.samples;
    }
    for (Copies* one : {&process, &thread->second}) {
      one->source = table.text(row, "source");
      one->copies += copies;
      if (copies > 0) one->by[by] += copies;
    }
  }
  return tables;
}

double percent(double part, double whole) { return whole > 0 ? 100 * part / whole : 0; }

void add_share(const Copies& one, const std::string& scope, MetricSet& metrics) {
  const std::optional<Share> share = binomial_share(one.copies, one.samples);
  if (!share) return;
  add_value(metrics, "usercopy.share_percent", scope, 100 * share->value, one.samples, one.source);
  add_value(metrics, "usercopy.share_low_percent", scope, 100 * share->low, one.samples, one.source);
  add_value(metrics, "usercopy.share_high_percent", scope, 100 * share->high, one.samples, one.source);
  for (const auto& [by, copies] : one.by)
    add_value(metrics, "usercopy." + by + "_percent", scope,
              percent(static_cast<double>(copies), static_cast<double>(one.samples)), one.samples, one.source);
}

// Those with most copies first.
std::vector<const Copies*> judgeable(const std::map<std::pair<std::string, std::int64_t>, Copies>& all) {
  std::vector<const Copies*> found;
  for (const auto& [key, one] : all)
    if (one.samples >= kFewestSamples) found.push_back(&one);
  std::stable_sort(found.begin(), found.end(), [](const Copies* a, const Copies* b) { return a->copies > b->copies; });
  if (found.size() > kMostScopes) found.resize(kMostScopes);
  return found;
}

// "python3:812 spent 31.2 % (29.1 to 33.4 %) of its CPU time in copies: receive 24.0 %, send 7.2 %".
std::string words_of(const Copies& one) {
  const Share share = *binomial_share(one.copies, one.samples);
  std::string text = one.name + " spent " + format_percent(100 * share.value) + " (" + format_percent(100 * share.low) +
                     " to " + format_percent(100 * share.high) + ") of its CPU time in copies";
  std::vector<std::pair<std::int64_t, std::string>> by;
  for (const auto& [name, copies] : one.by) by.emplace_back(-copies, name);
  std::sort(by.begin(), by.end());
  for (const auto& [copies, name] : by) {
    text += (&name == &by.front().second ? ": " : ", ") + std::string(name == "page_cache" ? "page cache" : name) +
            " " + format_percent(percent(-static_cast<double>(copies), static_cast<double>(one.samples)));
  }
  return text;
}

struct Joined {
  std::int64_t steps = 0;
  double exposed = 0, in_exposed = 0, in_step = 0, time = 0;  // ns

  void add_to(MetricSet& metrics, const std::string& scope) const {
    if (steps < kFewestCovered) return;
    const auto add = [&](const char* name, double value) {
      add_value(metrics, name, scope, value, steps, "samples of all CPUs");
    };
    add("usercopy.step_ms", 1e-6 * in_step / static_cast<double>(steps));
    add("usercopy.step_percent", percent(in_step, time));
    // Some nanoseconds of communication say nothing about what passes in it.
    if (exposed > 0) add("usercopy.exposed_percent", percent(in_exposed, exposed));
    add("usercopy.exposed_ms", 1e-6 * in_exposed / static_cast<double>(steps));
  }
};

class UserCopyAnalyzer final : public Analyzer {
 public:
  std::string_view name() const override { return "user_copy"; }
  void summarise(const RankTimeline&, const Inputs&, Summary&) const override {}  // step_pass.cpp

  void conclude(const Summary& all, const Inputs& inputs, Conclusions& conclusions) const override {
    add_joined(all, conclusions.metrics);
    const auto series = inputs.series.find("usercopy");
    if (series == inputs.series.end()) return;
    const Tables tables = read(series->second);
    for (const Copies* process : judgeable(tables.processes)) add_share(*process, process->scope, conclusions.metrics);
    for (const Copies* thread : judgeable(tables.threads)) add_share(*thread, thread->scope, conclusions.metrics);
    add_ranks(all, tables, conclusions.metrics);
    const auto worst = judgeable(tables.processes);
    if (worst.empty()) return;
    const auto most = *std::max_element(worst.begin(), worst.end(), [](const Copies* a, const Copies* b) {
      return a->copies * b->samples < b->copies * a->samples;
    });
    add_share(*most, "all", conclusions.metrics);
    if (most->copies > 0) conclusions.facts["usercopy.most"] = words_of(*most);
  }

 private:
  static void add_joined(const Summary& all, MetricSet& metrics) {
    const Series* table = all.find(kCopyJoinTable);
    if (table == nullptr) return;
    std::map<std::int64_t, Joined> ranks;
    Joined sum;
    for (const auto& row : table->rows) {
      const auto cell = [&row](std::size_t i) { return static_cast<double>(std::get<std::int64_t>(row[i])); };
      for (Joined* joined : {&ranks[std::get<std::int64_t>(row[0])], &sum}) {
        ++joined->steps;
        joined->exposed += cell(2);
        joined->in_exposed += cell(3);
        joined->in_step += cell(4);
        joined->time += cell(5);
      }
    }
    for (const auto& [rank, joined] : ranks) joined.add_to(metrics, "rank:" + std::to_string(rank));
    sum.add_to(metrics, "all");
  }

  static void add_ranks(const Summary& all, const Tables& tables, MetricSet& metrics) {
    const Series* ranks = all.find(kRankProcessTable);
    if (ranks == nullptr) return;
    for (const auto& row : ranks->rows) {
      const auto process = tables.processes.find({std::get<std::string>(row[1]), std::get<std::int64_t>(row[2])});
      if (process != tables.processes.end() && process->second.samples >= kFewestSamples)
        add_share(process->second, "rank:" + std::to_string(std::get<std::int64_t>(row[0])), metrics);
    }
  }
};

}  // namespace

std::unique_ptr<Analyzer> make_user_copy() { return std::make_unique<UserCopyAnalyzer>(); }

}  // namespace gradsync
