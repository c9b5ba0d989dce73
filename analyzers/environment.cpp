// Who was there: facts joined over the ranks, ranks that left no events, ranks that ended without a goodbye.
#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <set>

#include "analyzers/analyzers.h"
#include "analyzers/rows.h"
#include "src/base/text.h"
#include "src/timeline/rank_timeline.h"

namespace gradsync {
namespace {

// Facts of a process that are the run's when all ranks agree.
constexpr std::array<std::string_view, 27> kJoined{"backend",
                                                   "device",
                                                   "torch",
                                                   "python",
                                                   "cuda",
                                                   "framework",
                                                   "world_size",
                                                   "hook.kind",
                                                   "hook.name",
                                                   "ddp.bucket_bytes",
                                                   "ddp.bucket_cap_mb",
                                                   "ddp.parameters",
                                                   "ddp.gradient_bytes",
                                                   "deep",
                                                   "nccl.version",
                                                   "nccl.plugin",
                                                   "budget.dropped",
                                                   "ab.state",
                                                   "ab.with",
                                                   "ab.schedule",
                                                   "ab.bypassed_passes",
                                                   "net_namespace",
                                                   "quality.state",
                                                   "quality.memory",
                                                   "deepspeed.zero_stage",
                                                   "deepspeed.optimizer",
                                                   "deepspeed.config"};

// What a profile calls otherwise than the driver and NCCL's log; theirs count where they are there, too.
constexpr std::array<std::pair<const char*, const char*>, 2> kOfProfiles{
    {{"nccl", "nccl.version"}, {"gpu", "topology.gpus"}}};

struct End {
  std::int64_t pid = 0, step = -1, last_ns = 0, clean = 0;
  std::string host;
};

class EnvironmentAnalyzer final : public Analyzer {
 public:
  std::string_view name() const override { return "environment"; }

  void summarise(const RankTimeline& rank, const Inputs&, Summary& summary) const override {
    Series& facts = summary.table("rank_facts", {"rank", "key", "value"});
    for (const auto& [key, value] : rank.facts) facts.rows.push_back({std::int64_t{rank.rank}, key, value});
    std::int64_t lost = 0;
    std::string why;  // the reader tells every loss as an event, those of the writer's own counters too
    for (const Event& event : rank.events) {
      if (event.kind != Kind::loss) continue;
      lost += event.bytes;
      const std::string reason(rank.name(event));
      if (why.find(reason) == std::string::npos) why += (why.empty() ? "" : "; ") + reason;
    }
    const std::int64_t last_step = rank.steps.empty() ? -1 : rank.steps.back().number;
    summary.table("rank_ends", {"rank", "host", "pid", "step", "last_ns", "clean", "lost", "loss_reason"})
        .rows.push_back({std::int64_t{rank.rank}, rank.process.host, rank.process.pid, last_step, rank.last_time(),
                         std::int64_t{rank.process.exited_cleanly}, lost, why});
  }

  void conclude(const Summary& all, const Inputs& inputs, Conclusions& conclusions) const override {
    join_facts(all, inputs, conclusions);
    report_patches(all, conclusions);
    report_ends(all, conclusions);
    judge_instrumentation(all, inputs, conclusions);
  }

 private:
  static void join_facts(const Summary& all, const Inputs& inputs, Conclusions& conclusions) {
    const Series* table = all.find("rank_facts");
    if (table == nullptr) return;
    std::map<std::string, std::set<std::string>> values;
    for (const auto& row : table->rows) values[std::get<std::string>(row[1])].insert(std::get<std::string>(row[2]));
    const auto join_one = [&](const std::string& key, const std::string& name) {
      const auto found = values.find(key);
      if (found == values.end()) return;
      const std::string joined = join({found->second.begin(), found->second.end()}, ", ");
      conclusions.facts[name] = found->second.size() > 1 ? "mixed: " + joined : joined;
    };
    for (const std::string_view key : kJoined) join_one(std::string(key), std::string(key));
    for (const auto& [key, name] : kOfProfiles)
      if (!inputs.facts.contains(name) && !conclusions.facts.contains(name)) join_one(key, name);
  }

  // A patch that failed narrows what the hook can see; missing ones are older or newer frameworks and stay facts.
  static void report_patches(const Summary& all, Conclusions& conclusions) {
    const Series* table = all.find("rank_facts");
    if (table == nullptr) return;
    std::map<std::string, std::string> failed;
    std::string plugin;
    for (const auto& row : table->rows) {
      const std::string& key = std::get<std::string>(row[1]);
      const std::string& value = std::get<std::string>(row[2]);
      if (key.starts_with("patch.") && value.starts_with("failed")) failed[key.substr(6)] = value;
      if (key == "hook.disabled") failed["the whole hook"] = value;
      if (key == "not_covered.nccl_plugin") plugin = value;
    }
    if (!plugin.empty())
      conclusions.coverage.push_back({"NCCL profiler plug-in", "", CoverageState::partial, plugin, "", 0});
    for (const auto& [patch, why] : failed)
      conclusions.coverage.push_back({"torch hook: " + patch, "", CoverageState::partial, why, "", 0});
  }

  static void report_ends(const Summary& all, Conclusions& conclusions) {
    const Series* table = all.find("rank_ends");
    if (table == nullptr) return;
    bool anyone_said_goodbye = false;
    for (const auto& row : table->rows) anyone_said_goodbye |= std::get<std::int64_t>(row[5]) != 0;
    for (const auto& row : table->rows) {
      const auto cell = [&row](std::size_t i) { return std::get<std::int64_t>(row[i]); };
      const std::string scope = "rank:" + std::to_string(cell(0));
      if (cell(6) > 0)
        conclusions.coverage.push_back(
            {"events of " + scope, "", CoverageState::partial, std::get<std::string>(row[7]), "", cell(6)});
      const bool early = anyone_said_goodbye && cell(5) == 0;
      if (anyone_said_goodbye) add_value(conclusions.metrics, "rank.ended_early", scope, early ? 1 : 0, 1, "spool");
      if (cell(5) != 0) continue;
      const std::string at = cell(3) >= 0 ? " in step " + std::to_string(cell(3)) : "";
      conclusions.facts["end." + scope] =
          "pid " + std::to_string(cell(2)) + " on " + std::get<std::string>(row[1]) + " ended without a goodbye" + at;
      conclusions.coverage.push_back(
          {"end of " + scope, "", CoverageState::partial, conclusions.facts["end." + scope], "", 0});
    }
  }

  static void judge_instrumentation(const Summary& all, const Inputs& inputs, Conclusions& conclusions) {
    const std::size_t seen = ranks_with_steps(all);
    int expected = 0;
    const std::string world = conclusions.facts.contains("world_size") ? conclusions.facts["world_size"] : "";
    std::from_chars(world.data(), world.data() + world.size(), expected);
    add_value(conclusions.metrics, "run.ranks_seen", "all", static_cast<double>(seen), 1, "spool");
    if (expected > 0) add_value(conclusions.metrics, "run.ranks_expected", "all", expected, 1, "torch_hook");
    if (expected > 0 && seen > 0)
      add_value(conclusions.metrics, "run.ranks_missing", "all", std::max(0, expected - static_cast<int>(seen)), 1,
                "spool");
    if (inputs.origin == Origin::files) {
      if (seen > 0 && static_cast<int>(seen) < expected)
        conclusions.coverage.push_back({"ranks", "", CoverageState::partial,
                                        "the files hold " + std::to_string(seen) + " of " + world + " ranks",
                                        "analyze the files of all ranks together", 0});
      return;
    }
    const auto reason = inputs.facts.find("instrumented.reason");
    const bool complete = seen > 0 && static_cast<int>(seen) >= expected;
    conclusions.facts["instrumented"] = seen == 0 ? "no" : complete ? "yes" : "partly";
    if (!complete && !conclusions.facts.contains("instrumented.reason"))
      conclusions.facts["instrumented.reason"] =
          reason != inputs.facts.end() ? reason->second
          : seen == 0                  ? "no process of the job left training steps"
                                       : std::to_string(seen) + " of " + world + " ranks left training steps";
  }

  static std::size_t ranks_with_steps(const Summary& all) {
    const Series* table = all.find("rank_ends");
    if (table == nullptr) return 0;
    return static_cast<std::size_t>(std::count_if(table->rows.begin(), table->rows.end(),
                                                  [](const auto& row) { return std::get<std::int64_t>(row[3]) >= 0; }));
  }
};

}  // namespace

std::unique_ptr<Analyzer> make_environment() { return std::make_unique<EnvironmentAnalyzer>(); }

}  // namespace gradsync
