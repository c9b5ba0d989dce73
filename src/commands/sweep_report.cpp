#include "src/commands/sweep_report.h"

#include <algorithm>

#include "src/base/text.h"
#include "src/commands/examine.h"
#include "src/commands/profiles.h"

namespace gradsync {
namespace {

std::string fact_of(const Facts& facts, const std::string& name) {
  const auto found = facts.find(name);
  return found == facts.end() ? "" : found->second;
}

}  // namespace

std::vector<std::string> sweep_hosts(const Facts& facts, const std::string& own_host) {
  std::vector<std::string> hosts;
  const std::string names = fact_of(facts, "host_names");
  for (std::string_view name : split_words(names)) {
    if (name.ends_with(',')) name.remove_suffix(1);
    hosts.emplace_back(name);
  }
  if (hosts.empty() && fact_of(facts, "hosts") == "1") hosts.push_back(own_host);
  std::sort(hosts.begin(), hosts.end());
  hosts.erase(std::unique(hosts.begin(), hosts.end()), hosts.end());
  return hosts;
}

Report sweep_report(SweptFabric swept, const SweepSetting& setting, const RuleSet& rules) {
  Inputs inputs;
  inputs.origin = Origin::files;  // no job was watched
  inputs.facts = setting.facts;
  inputs.series = std::move(swept.series);
  if (!setting.links.columns.empty()) inputs.series["links"] = setting.links;
  if (!setting.messages.columns.empty()) inputs.series["messages"] = setting.messages;
  if (setting.job_ranks > 0) inputs.facts["overlay.ranks"] = std::to_string(setting.job_ranks);
  inputs.loads = setting.loads;
  inputs.coverage = std::move(swept.coverage);
  inputs.facts["job"] = "none";
  inputs.facts["asked"] = "fabric";
  inputs.facts["sweep"] = "live";
  inputs.facts["sweep.at"] = utc_text(setting.measured_at);
  inputs.facts["sweep.ranks"] = std::to_string(setting.place.ranks);
  inputs.run.command_line = setting.command_line;
  inputs.run.seconds = swept.seconds;
  Report report = conclude({}, std::move(inputs), rules, {});
  report.command = "sweep";
  report.run.hosts = sweep_hosts(setting.facts, setting.own_host);
  report.run.ranks = setting.place.ranks;
  report.run.backend = fact_of(setting.facts, "backend");
  for (const char* part : {"gloo", "nccl", "cuda"})
    if (const std::string version = fact_of(setting.facts, std::string(part) + ".version"); !version.empty())
      report.run.versions[part] = version;
  return report;
}

}  // namespace gradsync
