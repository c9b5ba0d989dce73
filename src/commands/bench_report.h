// What `bench` says: its measurement as a report. Pure.
#pragma once

#include "src/commands/measure_loads.h"
#include "src/diagnosis/rule.h"
#include "src/model/report.h"

namespace gradsync {

// Metrics load.* and memory.*, series load_profiles and load_checks, facts, verdict; of the rules those that fire, for most
// are about a job.
Report bench_report(const BenchPlan& plan, const BenchResult& result, const RuleSet& rules);

// The sizes of the gradient buckets in a job's report, in elements, ascending. Error: it does not tell them.
Result<std::vector<BenchSize>> bucket_sizes(const Report& job, const std::string& origin);

// exit_status::kSelfCheckFailed when a check failed.
int bench_status(const BenchResult& result);

}  // namespace gradsync
