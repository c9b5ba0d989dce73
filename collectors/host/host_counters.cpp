#include "collectors/host/host_counters.h"

#include <unistd.h>

#include <algorithm>
#include <limits>

#include "src/base/cpu_list.h"
#include "src/base/file.h"

namespace gradsync {
namespace {

namespace fs = std::filesystem;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr std::size_t kMostGroups = 256;
constexpr double kShortestShare = 3;  // s

std::string read_small(const fs::path& path) {
  const Result<std::string> text = read_file(path, 1 << 22);
  return text ? *text : std::string();
}

double grown(std::uint64_t first, std::uint64_t last) {
  return last >= first ? static_cast<double>(last - first) : kNaN;
}

Cell percent_of(double part, double whole) { return whole > 0 ? 100 * part / whole : kNaN; }

Cell pressure_percent(const HostCounters& first, const HostCounters& last, const std::string& resource,
                      std::optional<std::uint64_t> Pressure::*total) {
  const auto before = first.pressure.find(resource), after = last.pressure.find(resource);
  if (before == first.pressure.end() || after == last.pressure.end()) return kNaN;
  const auto from = before->second.*total, to = after->second.*total;
  if (!from || !to) return kNaN;
  return percent_of(grown(*from, *to) * 1e3, static_cast<double>(last.at - first.at));
}

}  // namespace

HostCounters read_host_counters(const fs::path& proc, Nanoseconds at) {
  HostCounters counters;
  counters.at = at;
  counters.cpu = parse_cpu_ticks(read_small(proc / "stat"));
  for (const char* resource : {"cpu", "memory", "io", "irq"})
    if (const std::string text = read_small(proc / "pressure" / resource); !text.empty())
      counters.pressure[resource] = parse_pressure(text);
  counters.softnet = parse_softnet(read_small(proc / "net" / "softnet_stat"));
  return counters;
}

void QuotaWatch::add_group(const fs::path& mount, const std::string& path) {
  std::error_code error;
  if (path.empty() || !fs::exists(cgroups_ / mount, error)) return;
  fs::path group = (mount / fs::path(path).relative_path()).lexically_normal();
  if (group.filename().empty()) group = group.parent_path();
  for (;; group = group.parent_path()) {
    if (groups_.size() < kMostGroups && !groups_.contains(group))
      if (const auto stat = parse_throttling(read_small(cgroups_ / group / "cpu.stat")))
        groups_[group] = {group.string(), *stat, *stat};
    if (group == mount || !group.has_relative_path()) return;
  }
}

void QuotaWatch::look(const std::vector<std::int64_t>& pids) {
  for (const std::int64_t pid : pids) {
    const CgroupPaths paths = parse_cgroup_paths(read_small(proc_ / std::to_string(pid) / "cgroup"));
    add_group(paths.v1_hierarchy, paths.cpu_v1);
    if (paths.v1_hierarchy != "cpu" && !paths.cpu_v1.empty()) add_group("cpu", paths.cpu_v1);
    for (const char* mount : {"", "unified"}) add_group(mount, paths.v2);
  }
  for (auto& [path, group] : groups_)
    if (const auto stat = parse_throttling(read_small(cgroups_ / path / "cpu.stat"))) group.last = *stat;
}

std::optional<QuotaWatch::Group> QuotaWatch::worst() const {
  const Group* worst = nullptr;
  const auto share = [](const Group& group) {
    return static_cast<double>(group.throttled()) / static_cast<double>(group.periods());
  };
  for (const auto& [path, group] : groups_)
    if (group.periods() > 0 && (worst == nullptr || share(group) > share(*worst))) worst = &group;
  return worst == nullptr ? std::nullopt : std::optional<Group>(*worst);
}

std::optional<double> others_percent(const JobShare& share, double ticks_per_s) {
  const double seconds = static_cast<double>(share.to - share.from) * 1e-9;
  if (!share.first || !share.last || share.cpus.empty() || seconds < kShortestShare || ticks_per_s <= 0) return {};
  double busy = 0;
  for (const int cpu : share.cpus) {
    const auto before = share.first->busy.find(cpu), after = share.last->busy.find(cpu);
    if (before == share.first->busy.end() || after == share.last->busy.end() || after->second < before->second)
      return {};
    busy += static_cast<double>(after->second - before->second) / ticks_per_s;
  }
  const double others = busy - static_cast<double>(share.job_run) * 1e-9;
  return std::max(0.0, 100 * others / (seconds * static_cast<double>(share.cpus.size())));
}

Series host_series(const HostCounters& first, const HostCounters& last, const std::optional<QuotaWatch::Group>& quota,
                   const JobShare& job, const std::string& machine) {
  Series series{"host",
                {"machine", "interval_s", "cpus", "steal_percent", "softirq_percent", "psi_cpu_some_percent",
                 "psi_memory_full_percent", "psi_io_full_percent", "softnet_dropped", "softnet_squeezed", "quota_group",
                 "quota_periods", "throttled_periods", "throttled_ms", "job_cpus", "others_percent"},
                {}};
  std::vector<Cell> row{machine, static_cast<double>(last.at - first.at) * 1e-9};
  if (first.cpu && last.cpu) {
    const double total = grown(first.cpu->total, last.cpu->total);
    row.insert(row.end(),
               {static_cast<std::int64_t>(last.cpu->cpus), percent_of(grown(first.cpu->steal, last.cpu->steal), total),
                percent_of(grown(first.cpu->softirq, last.cpu->softirq), total)});
  } else {
    row.insert(row.end(), {kNaN, kNaN, kNaN});
  }
  row.push_back(pressure_percent(first, last, "cpu", &Pressure::some_us));
  row.push_back(pressure_percent(first, last, "memory", &Pressure::full_us));
  row.push_back(pressure_percent(first, last, "io", &Pressure::full_us));
  const bool net = first.softnet && last.softnet;
  row.push_back(net ? grown(first.softnet->dropped, last.softnet->dropped) : kNaN);
  row.push_back(net ? grown(first.softnet->squeezed, last.softnet->squeezed) : kNaN);
  row.emplace_back(quota ? quota->path : std::string());
  row.push_back(quota ? static_cast<double>(quota->periods()) : kNaN);
  row.push_back(quota ? static_cast<double>(quota->throttled()) : kNaN);
  row.push_back(quota ? static_cast<double>(quota->last.throttled_us - quota->first.throttled_us) * 1e-3 : kNaN);
  row.emplace_back(format_cpu_list(job.cpus));
  const std::optional<double> others = others_percent(job, static_cast<double>(::sysconf(_SC_CLK_TCK)));
  row.push_back(others ? *others : kNaN);
  series.rows.push_back(std::move(row));
  return series;
}

}  // namespace gradsync
