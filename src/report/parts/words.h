// The words and numbers of a report for people: one place for how a metric, a saving or a scope is said.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "src/model/report.h"

namespace gradsync {

// The words of `text` kept on one line: its spaces as no-break spaces (canvas.h).
std::string no_break(std::string_view text);

// "1 rank", "2 ranks"
std::string plural(std::int64_t count, std::string_view noun);

// "compute and communication apart" of step 1; steps are 1 to 4, the rest is "other checks".
std::string_view diagnostic_step_name(int step);

// "rank:3" → "rank 3"
std::string scope_text(std::string_view scope);

// "rank 0, rank 1, rank 2 and 4093 more"
std::string listed(const std::vector<std::string>& items);

// The metric `name` (which may address a quantile: "comm.message_bytes@p90") in `scope`, else over all ranks; null
// when neither was measured.
struct MetricReference {
  const Metric* metric = nullptr;
  double value = 0;
};
MetricReference find_metric(const Report& report, std::string_view name, std::string_view scope);

// "(7.9 … 8.9, n 48)": p10 and p90 where known; not to be broken.
std::string spread_text(const Metric& metric);

// "at most 8.3 ms", "−7.9 ms predicted (5.8 … 8.4)"; empty when the numbers are not finite.
std::string saving_text(const Saving& saving);

// "no_host_sync + bucket_size together −9.1 ms predicted (7.0 … 10.2)": remedies that do not exclude each other, replayed
// at once; empty where fewer than two are worth trying.
std::string together_text(const Report& report);

// "≥ 0.4 ms": the smallest effect that all of these clean findings would have shown, in milliseconds if one of them is
// judged in milliseconds; empty when none knows.
std::string seen_text(const std::vector<const Finding*>& clean);

// " (hint: …)" or nothing.
std::string hint_text(std::string_view hint);

}  // namespace gradsync
