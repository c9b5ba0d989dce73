#include "src/commands/bench_report.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <map>
#include <set>

#include "src/base/host_name.h"
#include "src/base/text.h"
#include "src/base/units.h"
#include "src/commands/exit_status.h"
#include "src/diagnosis/diagnose.h"
#include "version.h"

namespace gradsync {
namespace {

constexpr double kFloat = 4;

// One number for each algorithm: of one size, or added up over a step's buckets. Quantiles do not add up.
void add_metrics(const BenchPlan& plan, const BenchResult& result, MetricSet& metrics) {
  std::map<std::string, std::vector<const BenchRow*>> by_algorithm;
  for (const BenchRow& row : result.rows) by_algorithm[row.algorithm].push_back(&row);
  for (const auto& [algorithm, rows] : by_algorithm) {
    Metric ms{
        .name = "load." + algorithm + "." + plan.library->device() + ".ms", .n = rows[0]->ms().n, .source = "bench"};
    Metric wire{.name = "load." + algorithm + ".wire_bytes", .source = "bench"};
    double at_roofline = 0;
    for (const BenchRow* row : rows) {
      ms.value += row->ms().p50 * row->size.count;
      ms.n = std::min(ms.n, row->ms().n);
      at_roofline += row->ms().p50 * row->size.count * row->roofline_percent();
      wire.value += static_cast<double>(row->wire_bytes) * row->size.count;
    }
    if (rows.size() == 1 && rows[0]->size.count == 1) {
      ms.p10 = rows[0]->ms().p10;
      ms.p50 = rows[0]->ms().p50;
      ms.p90 = rows[0]->ms().p90;
    }
    metrics.add({.name = "load." + algorithm + "." + plan.library->device() + ".roofline_percent",
                 .value = at_roofline / ms.value,
                 .n = ms.n,
                 .source = "bench"});
    metrics.add(ms);
    metrics.add(wire);
  }
  for (const auto& [name, speed] :
       {std::pair{"read", result.bandwidth.read}, {"copy", result.bandwidth.copy}, {"update", result.bandwidth.update}})
    metrics.add({.name = std::string("memory.") + name + "_gbytes_per_s", .value = speed * 1e-9, .source = "bench"});
}

Series profile_rows(const BenchPlan& plan, const BenchResult& result) {
  Series series{"load_profiles",
                {"algorithm",
                 "device",
                 "elements",
                 "ms_p10",
                 "ms_p50",
                 "ms_p90",
                 "n",
                 "buckets",
                 "threads",
                 "ratio_percent",
                 "roofline_percent",
                 "bandwidth_gbytes_per_s",
                 "moved_bytes",
                 "wire_bytes",
                 "wire_percent",
                 "cosine",
                 "compress_ms",
                 "decompress_ms",
                 "ranks",
                 "decompress_ms_p10",
                 "decompress_ms_p90"},
                {}};
  for (const BenchRow& row : result.rows) {
    const double moved = row.traffic().bytes(), wire = static_cast<double>(row.wire_bytes);
    series.rows.push_back({row.algorithm,
                           plan.library->device(),
                           row.size.elements,
                           row.ms().p10,
                           row.ms().p50,
                           row.ms().p90,
                           row.ms().n,
                           std::int64_t{row.size.count},
                           std::int64_t{plan.options.threads},
                           100 * plan.options.ratio,
                           row.roofline_percent(),
                           moved / row.ms().p50 * 1e-6,
                           moved,
                           row.wire_bytes,
                           100 * wire / (kFloat * static_cast<double>(row.size.elements)),
                           row.cosine,
                           row.compress_ms.p50,
                           row.decompress_ms.p50,
                           std::int64_t{plan.ranks},
                           row.decompress_ms.p10,
                           row.decompress_ms.p90});
  }
  return series;
}

Series check_rows(const BenchResult& result) {
  Series series{"load_checks", {"algorithm", "check", "what", "passed", "measured"}, {}};
  for (const auto& [algorithm, check] : result.checks)
    series.rows.push_back({algorithm, check.id, check.what, std::int64_t{check.passed ? 1 : 0}, check.measured});
  return series;
}

std::string verdict_text(const BenchPlan& plan, const BenchResult& result) {
  std::set<std::string> wrong;
  std::string first;
  for (const auto& [algorithm, check] : result.checks) {
    if (check.passed) continue;
    wrong.insert(algorithm);
    if (first.empty()) first = fmt::format("{} {}, {}: {}", algorithm, check.id, check.what, check.measured);
  }
  if (!wrong.empty())
    return fmt::format("{} of {} checks failed, of {}.\nThe first: {}", result.failed(), result.checks.size(),
                       join({wrong.begin(), wrong.end()}, ", "), first);
  const std::size_t loads = plan.loads.size();
  return fmt::format("{} {} what {}: {} checks passed.", loads, loads == 1 ? "load does" : "loads do",
                     loads == 1 ? "it says" : "they say", result.checks.size());
}

// "[25600000, 1024]", "25600000,1024"
std::vector<std::int64_t> numbers_in(const std::string& text) {
  std::vector<std::int64_t> numbers;
  for (std::size_t i = 0; i < text.size();) {
    if (std::isdigit(static_cast<unsigned char>(text[i])) == 0) {
      ++i;
      continue;
    }
    std::size_t end = i;
    while (end < text.size() && std::isdigit(static_cast<unsigned char>(text[end])) != 0) ++end;
    if (end - i <= 15) numbers.push_back(std::stoll(text.substr(i, end - i)));
    i = end;
  }
  return numbers;
}

std::string fact_of(const Report& report, const std::string& name) {
  const auto found = report.facts.find(name);
  return found == report.facts.end() || found->second.starts_with("mixed") ? "" : found->second;
}

double metric_of(const Report& report, const std::string& name) {
  for (const Metric& metric : report.metrics)
    if (metric.name == name && metric.scope == "all") return metric.value;
  return 0;
}

}  // namespace

Report bench_report(const BenchPlan& plan, const BenchResult& result, const RuleSet& rules) {
  Report report;
  report.tool.version = kVersion;
  report.command = "bench";
  report.run.hosts = {host_name()};
  report.run.cpus = static_cast<int>(::sysconf(_SC_NPROCESSORS_ONLN));
  report.facts = {{"job", "none"},
                  {"bench", plan.library->device()},
                  {"bench.instruction_set", plan.library->instruction_set()},
                  {"bench.half", plan.options.half == HalfFormat::fp16 ? "fp16" : "bf16"},
                  {"bench.merge", plan.options.merge == Merge::then_apply ? "then-apply" : "apply-each"},
                  {"bench.feedback", plan.options.feedback == Feedback::residual ? "yes" : "no"},
                  {"bench.threads", std::to_string(plan.options.threads)},
                  {"bench.ratio_percent", format_short(100 * plan.options.ratio)}};
  MetricSet metrics;
  add_metrics(plan, result, metrics);
  report.metrics = metrics.all();
  report.series["load_profiles"] = profile_rows(plan, result);
  report.series["load_checks"] = check_rows(result);
  report.findings = diagnose(rules, metrics, report.facts);
  std::erase_if(report.findings, [](const Finding& finding) { return finding.state != FindingState::fired; });
  report.verdict.text = verdict_text(plan, result);
  return report;
}

Result<std::vector<BenchSize>> bucket_sizes(const Report& job, const std::string& origin) {
  std::map<std::int64_t, int> counts;
  for (const std::int64_t bytes : numbers_in(fact_of(job, "ddp.bucket_bytes"))) ++counts[bytes / 4];
  counts.erase(0);
  // Older frameworks do not list their buckets. Messages that nothing compressed are as many and as large; else the
  // gradient is taken as one.
  const double bytes = metric_of(job, "comm.message_bytes"), messages = metric_of(job, "comm.collectives_per_step");
  if (counts.empty() && bytes >= kFloat && messages > 0 && fact_of(job, "compression") == "none")
    counts[static_cast<std::int64_t>(bytes / kFloat)] = static_cast<int>(std::max(1L, std::lround(messages)));
  if (counts.empty())
    for (const std::int64_t gradient : numbers_in(fact_of(job, "ddp.gradient_bytes")))
      if (gradient >= 4) counts[gradient / 4] = 1;
  if (counts.empty())
    return Error{"cannot tell the sizes of gradient buckets from", origin, "it names none and holds no messages",
                 "name a size with --n", exit_status::kNothingUsable};
  std::vector<BenchSize> sizes;
  for (const auto& [elements, count] : counts) sizes.push_back({elements, count});
  return sizes;
}

int bench_status(const BenchResult& result) {
  return result.failed() == 0 ? exit_status::kDone : exit_status::kSelfCheckFailed;
}

}  // namespace gradsync
