// The join: which share of the communication that nothing hides is time in which a thread that drives it could run and
// had no CPU, was held back by a quota, or was interrupted. First half: host_waits.h. Only steps that a trace of the
// scheduler covers as a whole are judged.
#include <algorithm>
#include <map>
#include <set>

#include "analyzers/analyzers.h"
#include "analyzers/host_waits.h"
#include "analyzers/rows.h"
#include "src/base/units.h"

namespace gradsync {
namespace {

constexpr const char* kSource = "scheduler trace";
constexpr std::int64_t kFewestTraced = 3;

struct Joined {
  std::int64_t steps = 0;
  bool wakeups = true;
  double exposed = 0, explained = 0, irq = 0, quota = 0, own = 0, training = 0, time = 0;  // ns

  double by_job = 0, by_all = 0;  // ns of single threads: while a thread of the job had the CPU, and of all

  double held() const { return explained + training; }
  double behind_job() const { return by_all > 0 ? held() * by_job / by_all : 0; }
  double by_others() const { return held() - behind_job(); }
};

double percent(double part, double whole) { return whole > 0 ? 100 * part / whole : 0; }

class HostJoinAnalyzer final : public Analyzer {
 public:
  std::string_view name() const override { return "host_join"; }
  void summarise(const RankTimeline&, const Inputs&, Summary&) const override {}  // step_pass.cpp

  void conclude(const Summary& all, const Inputs&, Conclusions& conclusions) const override {
    const Series* table = all.find(kHostJoinTable);
    if (table == nullptr) return;
    std::map<std::int64_t, Joined> ranks;
    Joined sum;
    for (const auto& row : table->rows) {
      for (Joined* joined : {&ranks[std::get<std::int64_t>(row[0])], &sum}) add_row(row, *joined);
    }
    add_causes(all, ranks, sum);
    const Joined* worst = nullptr;
    std::int64_t worst_rank = 0;
    for (const auto& [rank, joined] : ranks) {
      add_scope("rank:" + std::to_string(rank), joined, conclusions.metrics);
      if (worst != nullptr && joined.held() / joined.time <= worst->held() / worst->time) continue;
      worst = &joined;
      worst_rank = rank;
    }
    add_scope("all", sum, conclusions.metrics);
    if (worst != nullptr && worst->held() > 0) name_cause(all, worst_rank, *worst, conclusions.facts);
  }

 private:
  static void add_row(const std::vector<Cell>& row, Joined& joined) {
    const auto cell = [&row](std::size_t i) { return static_cast<double>(std::get<std::int64_t>(row[i])); };
    ++joined.steps;
    joined.exposed += cell(2);
    joined.explained += cell(3);
    joined.irq += cell(4);
    joined.quota += cell(5);
    joined.own += cell(6);
    joined.training += cell(7);
    joined.time += cell(8);
    joined.wakeups &= cell(9) != 0;
  }

  // Ranks that have too few CPUs for their own threads take them from each other: that is no neighbour's fault.
  static void add_causes(const Summary& all, std::map<std::int64_t, Joined>& ranks, Joined& sum) {
    std::set<std::int64_t> job;
    if (const Series* threads = all.find(kJobThreadTable))
      for (const auto& row : threads->rows) job.insert(std::get<std::int64_t>(row[1]));
    const Series* held = all.find(kHeldUpTable);
    if (held == nullptr) return;
    for (const auto& row : held->rows) {
      const auto ns = static_cast<double>(std::get<std::int64_t>(row[3]));
      const bool own = job.contains(tid_of(std::get<std::string>(row[2])));
      for (Joined* joined : {&ranks[std::get<std::int64_t>(row[0])], &sum}) {
        joined->by_all += ns;
        if (own) joined->by_job += ns;
      }
    }
  }

  static void add_scope(const std::string& scope, const Joined& joined, MetricSet& metrics) {
    if (joined.steps < kFewestTraced) return;
    const auto add = [&](const char* name, double value) {
      add_value(metrics, name, scope, value, joined.steps, kSource);
    };
    const auto steps = static_cast<double>(joined.steps);
    add("sched.behind_job_ms", 1e-6 * joined.behind_job() / steps);
    add("sched.behind_job_percent", percent(joined.behind_job(), joined.time));
    if (!joined.wakeups) {  // a part of the waits must not pass for all of them
      add("sched.preempted_ms", 1e-6 * joined.by_others() / steps);
      add("sched.preempted_percent", percent(joined.by_others(), joined.time));
      if (joined.exposed > 0) add("sched.preempted_exposed_percent", percent(joined.explained, joined.exposed));
      return;
    }
    add("sched.held_up_ms", 1e-6 * joined.held() / steps);
    add("sched.held_up_percent", percent(joined.held(), joined.time));
    add("sched.starved_ms", 1e-6 * joined.by_others() / steps);
    add("sched.starved_percent", percent(joined.by_others(), joined.time));
    add("sched.traced_exposed_percent", percent(joined.exposed, joined.time));
    if (joined.exposed <= 0) return;
    add("sched.explained_percent", percent(joined.explained, joined.exposed));
    add("sched.irq_exposed_ms", 1e-6 * joined.irq / steps);
    add("sched.irq_exposed_percent", percent(joined.irq, joined.exposed));
    if (joined.explained <= 0) return;
    add("sched.explained_by_irq_percent", percent(joined.irq, joined.explained));
    add("sched.explained_by_quota_percent", percent(joined.quota, joined.explained));
    add("sched.explained_by_own_threads_percent", percent(joined.own, joined.explained));
  }

  // "rank 1: python3 waited 412.0 ms while burn:812 had the CPU".
  static void name_cause(const Summary& all, std::int64_t rank, const Joined& joined, Facts& facts) {
    const Series* table = all.find(kHeldUpTable);
    std::map<std::string, double> by;
    std::string thread;
    double most = 0;
    for (const auto& row : table->rows) {
      if (std::get<std::int64_t>(row[0]) != rank) continue;
      const auto ns = static_cast<double>(std::get<std::int64_t>(row[3]));
      const std::string& who = std::get<std::string>(row[2]);
      by[who.substr(0, who.rfind(':'))] += ns;  // a name's threads together
      if (ns > most) thread = std::get<std::string>(row[1]);
      most = std::max(most, ns);
    }
    const auto worst =
        std::max_element(by.begin(), by.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
    if (worst == by.end()) {
      facts["sched.held_up_by"] = "the training thread of rank " + std::to_string(rank) + ", outside communication";
      return;
    }
    // Switch records do not tell another program from nobody, where a quota is used up.
    const std::string who = worst->first == "idle"             ? "nobody had the CPU: a quota"
                            : worst->first == "other programs" ? "no thread of the job had the CPU"
                                                               : worst->first + " had the CPU";
    facts["sched.held_up_by"] = thread + " of rank " + std::to_string(rank) + ", mostly while " + who + " (" +
                                format_ms(1e-6 * worst->second) + " in " + std::to_string(joined.steps) + " steps)";
  }
};

}  // namespace

std::unique_ptr<Analyzer> make_host_join() { return std::make_unique<HostJoinAnalyzer>(); }

}  // namespace gradsync
