#include "src/commands/join_hosts.h"

#include <algorithm>
#include <map>

namespace gradsync {
namespace {

bool is_of_the_doctor(const std::string& fact) { return fact.starts_with("option.") || fact.starts_with("doctor."); }

bool same(const Coverage& a, const Coverage& b) {
  return a.source == b.source && a.tier == b.tier && a.state == b.state && a.reason == b.reason && a.lost == b.lost;
}

void add_rows(const std::string& host, SeriesSet& from, Report& into) {
  for (auto& [name, series] : from) {
    const auto [known, is_new] = into.series.try_emplace(name, series);
    if (is_new) continue;
    if (known->second.columns == series.columns)
      known->second.rows.insert(known->second.rows.end(), series.rows.begin(), series.rows.end());
    else
      into.coverage.push_back({"series " + name, "", CoverageState::partial,
                               "that of " + host + " has other columns: another version wrote it", "", 0});
  }
}

// Who shares a core is told by two facts that rules test: both of the host where it is gravest.
void keep_gravest_core(const std::vector<HostParts>& hosts, Facts& all) {
  const HostParts* gravest = nullptr;
  std::size_t rank = 0;
  for (const HostParts& one : hosts) {
    const auto kind = one.parts.facts.find("sched.same_core.kind");
    if (kind == one.parts.facts.end()) continue;
    const std::size_t own = kind->second == "same CPU" ? 3 : kind->second == "SMT siblings" ? 2 : 1;
    if (own <= rank) continue;
    rank = own;
    gravest = &one;
  }
  if (gravest == nullptr) return;
  const Facts& facts = gravest->parts.facts;
  all["sched.same_core.kind"] = facts.at("sched.same_core.kind");
  if (const auto who = facts.find("sched.same_core"); who != facts.end())
    all["sched.same_core"] = gravest->host.empty() ? who->second : gravest->host + ": " + who->second;
}

Facts joined_facts(const std::vector<HostParts>& hosts) {
  Facts all;
  std::map<std::string, std::vector<std::string>> values;
  for (const HostParts& one : hosts)
    for (const auto& [key, value] : one.parts.facts) {
      all.try_emplace(key, value);
      values[key].push_back((one.host.empty() ? "" : one.host + ": ") + value);
    }
  for (auto& [key, value] : all) {
    const bool differs = std::any_of(hosts.begin(), hosts.end(), [&, &key = key, &value = value](const HostParts& one) {
      const auto told = one.parts.facts.find(key);
      return told == one.parts.facts.end() || told->second != value;
    });
    if (!differs || is_of_the_doctor(key)) continue;
    std::string text;
    for (const std::string& part : values[key]) text += (text.empty() ? "" : "; ") + part;
    value = text;
  }
  keep_gravest_core(hosts, all);
  return all;
}

// Entries of which every host has the same stand once, in the order of the first host.
std::vector<Coverage> joined_coverage(const std::vector<HostParts>& hosts) {
  std::vector<Coverage> all;
  for (const HostParts& one : hosts)
    for (const Coverage& entry : one.parts.coverage) {
      const bool everywhere = std::all_of(hosts.begin(), hosts.end(), [&](const HostParts& other) {
        return std::any_of(other.parts.coverage.begin(), other.parts.coverage.end(),
                           [&](const Coverage& its) { return same(its, entry); });
      });
      if (everywhere && &one != &hosts.front()) continue;
      all.push_back(entry);
      if (everywhere || one.host.empty()) continue;
      all.back().reason = "on " + one.host + (entry.reason.empty() ? "" : ": " + entry.reason);
    }
  return all;
}

}  // namespace

Report join_hosts(std::vector<HostParts> hosts) {
  if (hosts.empty()) return {};
  if (hosts.size() == 1) return std::move(hosts.front().parts);
  Report all = hosts.front().parts;
  all.facts = joined_facts(hosts);
  all.coverage = joined_coverage(hosts);
  all.series.clear();
  for (HostParts& one : hosts) {
    all.run.seconds = std::max(all.run.seconds, one.parts.run.seconds);
    if (all.run.exit_status.value_or(0) == 0 && one.parts.run.exit_status)
      all.run.exit_status = one.parts.run.exit_status;
    add_rows(one.host, one.parts.series, all);
  }
  return all;
}

}  // namespace gradsync
