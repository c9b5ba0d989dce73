// What is not the same about two sets of runs: versions, settings, machines; and whether it is still the same job.
#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <set>

#include "analyzers/compare.h"
#include "src/base/text.h"

namespace gradsync {
namespace {

struct Kind {
  std::string_view prefix, kind;
};

// The first that fits. Facts that no row names are findings in words or counts, and differ from run to run.
constexpr std::array<Kind, 26> kKinds{{{"ddp.parameters", "job"},
                                       {"ddp.gradient_bytes", "job"},
                                       {"world_size", "job"},
                                       {"framework", "job"},
                                       {"device", "job"},
                                       {"backend", "setting"},
                                       {"compression.start_step", ""},
                                       {"compression", "setting"},
                                       {"ddp.", "setting"},
                                       {"deepspeed.", "setting"},
                                       {"hook.", "setting"},
                                       {"configuration.", "setting"},
                                       {"communication.", "setting"},
                                       {"nccl.warnings", ""},
                                       {"nccl.first_warning", ""},
                                       {"nccl.version", "version"},
                                       {"nccl.", "setting"},
                                       {"env.", "environment"},
                                       {"option.", "doctor"},
                                       {"steps.source", "doctor"},
                                       {"instrumented", "doctor"},
                                       {"cuda.", "version"},
                                       {"topology.gpu_driver", "version"},
                                       {"topology.", "machine"},
                                       {"gpu.compute_capability", "machine"},
                                       {"link.gbits_per_s", "machine"}}};

std::string_view kind_of(std::string_view fact) {
  for (const Kind& one : kKinds)
    if (fact.starts_with(one.prefix)) return one.kind;
  return "";
}

std::string number(std::int64_t value) { return value > 0 ? std::to_string(value) : ""; }

// Kind and name → what the run says of it; what it does not say is missing.
std::map<std::pair<std::string, std::string>, std::string> told_by(const Report& report) {
  std::map<std::pair<std::string, std::string>, std::string> told{
      {{"job", "command"}, join(report.run.command_line, " ")},
      {{"job", "ranks"}, number(report.run.ranks)},
      {{"machine", "hosts"}, join(report.run.hosts, ", ")},
      {{"machine", "CPUs"}, number(report.run.cpus)},
      {{"machine", "clocks"}, report.run.clocks},
      {{"setting", "backend"}, report.run.backend},
      {{"doctor", "version"}, report.tool.version}};
  for (const auto& [name, version] : report.run.versions) told[{"version", name}] = version;
  if (const auto rules = report.tool.parts.find("rules"); rules != report.tool.parts.end())
    told[{"doctor", "rules"}] = rules->second;
  for (const auto& [name, value] : report.facts)
    if (const std::string_view kind = kind_of(name); !kind.empty()) told[{std::string(kind), name}] = value;
  std::erase_if(told, [](const auto& entry) { return entry.second.empty(); });
  return told;
}

// Of several runs every value that one of them has.
std::map<std::pair<std::string, std::string>, std::set<std::string>> told_by(const ComparedSet& set) {
  std::map<std::pair<std::string, std::string>, std::set<std::string>> all;
  for (const ComparedRun& run : set)
    for (const auto& [key, value] : told_by(run.report)) all[key].insert(value);
  return all;
}

std::string words(const std::set<std::string>& values) {
  return values.empty() ? "not known" : join({values.begin(), values.end()}, " | ");
}

// Facts that a job keeps when only its speed is worked on; where one side does not tell, nobody knows.
struct Identity {
  std::string_view name, words;
};
constexpr std::array<Identity, 4> kIdentity{{{"ranks", "ranks"},
                                             {"ddp.parameters", "parameters of the model"},
                                             {"ddp.gradient_bytes", "bytes of gradients"},
                                             {"device", "device"}}};

}  // namespace

void compare_facts(const ComparedSet& before, const ComparedSet& after, SetComparison& comparison) {
  auto was = told_by(before), is = told_by(after);
  for (const auto& [key, values] : is) was.try_emplace(key);
  for (const auto& [key, values] : was) {
    const std::set<std::string>& now = is[key];
    const bool mixed = values.size() > 1 || now.size() > 1;
    const bool known = !values.empty() && !now.empty();
    // A fact that one side lacks is a change where it is set by somebody (environment, versions of what is there).
    const bool set_by_somebody = key.first == "environment" || key.first == "version" || key.first == "setting";
    if (values == now || (!known && !set_by_somebody)) continue;
    comparison.facts.push_back({key.first, key.second, words(values), words(now)});
    for (const Identity& one : kIdentity)
      if (key.second == one.name && known)
        comparison.other_job.push_back(std::string(one.words) + " " + words(values) + " in A, " + words(now) + " in B");
    if (known && (key.second == "hosts" || key.second == "CPUs"))
      comparison.cautions.push_back("other machines: " + key.second + " " + words(values) + " in A, " + words(now) +
                                    " in B" + (mixed ? " (of several runs)" : ""));
    if (known && key.first == "doctor" && (key.second == "rules" || key.second == "version"))
      comparison.cautions.push_back("judged by other rules: " + key.second + " " + words(values) + " in A, " +
                                    words(now) + " in B; a report is judged as it was then, a recording as now");
  }
}

}  // namespace gradsync
