// A Metric: a named number about one scope, with its spread. The unit is the last word of the name
// (`step.time_ms`, `sync.share_percent`); a name without unit has unit 1.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gradsync {

struct Metric {
  std::string name;
  std::string scope = "all";  // all, rank:N, host:H, device:D, group:G, layer:L, thread:T, variant:V
  double value = 0;           // the headline: a median unless the name says otherwise
  std::int64_t n = 1;         // observations behind it
  std::optional<double> p10, p50, p90;
  std::string source;                // torch_hook, profiler, ddp_logger, …
  std::optional<double> resolution;  // smallest effect that would have shown in 90 % of bootstrap draws

  // The unit, from the name's last word: "ms", "us", "percent", "bytes", "1", …
  std::string unit() const;
};

// Unit of a metric name by its last word; "1" when it has none.
std::string unit_of(std::string_view metric_name);

// All metrics of a run, ordered by name and scope. Adding the same (name, scope) again replaces it.
class MetricSet {
 public:
  void add(Metric metric);
  // `name` may address a quantile: "comm.message_bytes@p50". Nothing when it was not measured.
  std::optional<double> value(std::string_view name, std::string_view scope) const;
  const Metric* find(std::string_view name, std::string_view scope) const;
  // Scopes for which any metric exists and which start with `kind` + ':' ("rank" → rank:0, rank:1), in natural order.
  std::vector<std::string> scopes(std::string_view kind) const;
  std::vector<Metric> all() const;

 private:
  std::map<std::string, std::map<std::string, Metric>> by_name_;
};

}  // namespace gradsync
