#include "src/model/metric.h"

#include <algorithm>
#include <charconv>

namespace gradsync {
namespace {

// rank:2 before rank:10.
bool natural_less(const std::string& a, const std::string& b) {
  long left = 0, right = 0;
  const std::size_t from_a = a.find(':') + 1, from_b = b.find(':') + 1;
  const auto parsed_a = std::from_chars(a.data() + from_a, a.data() + a.size(), left);
  const auto parsed_b = std::from_chars(b.data() + from_b, b.data() + b.size(), right);
  if (parsed_a.ec == std::errc{} && parsed_b.ec == std::errc{} && left != right) return left < right;
  return a < b;
}

}  // namespace

std::string unit_of(std::string_view name) {
  const std::string_view bare = name.substr(0, name.find('@'));
  for (const std::string_view unit : {std::string_view("gbytes_per_s"), std::string_view("per_s")})
    if (bare.ends_with(unit) && bare.size() > unit.size() &&
        (bare[bare.size() - unit.size() - 1] == '_' || bare[bare.size() - unit.size() - 1] == '.'))
      return std::string(unit);
  const std::size_t before_last = bare.find_last_of("_.");  // host_sync.ms
  if (before_last == std::string_view::npos) return "1";
  const std::string_view last = bare.substr(before_last + 1);
  for (const std::string_view unit : {"ms", "us", "ns", "percent", "bytes", "hz"})
    if (last == unit) return std::string(unit);
  return "1";
}

std::string Metric::unit() const { return unit_of(name); }

void MetricSet::add(Metric metric) {
  auto& slot = by_name_[metric.name][metric.scope];
  slot = std::move(metric);
}

const Metric* MetricSet::find(std::string_view name, std::string_view scope) const {
  const auto named = by_name_.find(std::string(name));
  if (named == by_name_.end()) return nullptr;
  const auto scoped = named->second.find(std::string(scope));
  return scoped == named->second.end() ? nullptr : &scoped->second;
}

std::optional<double> MetricSet::value(std::string_view name, std::string_view scope) const {
  const std::size_t at = name.find('@');
  const Metric* metric = find(name.substr(0, at), scope);
  if (metric == nullptr) return std::nullopt;
  if (at == std::string_view::npos) return metric->value;
  const std::string_view which = name.substr(at + 1);
  if (which == "p10") return metric->p10;
  if (which == "p50") return metric->p50;
  if (which == "p90") return metric->p90;
  return std::nullopt;
}

std::vector<std::string> MetricSet::scopes(std::string_view kind) const {
  std::vector<std::string> found;
  const std::string prefix = std::string(kind) + ":";
  for (const auto& [name, by_scope] : by_name_)
    for (const auto& [scope, metric] : by_scope)
      if (scope.starts_with(prefix)) found.push_back(scope);
  std::sort(found.begin(), found.end(), natural_less);
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}

std::vector<Metric> MetricSet::all() const {
  std::vector<Metric> metrics;
  for (const auto& [name, by_scope] : by_name_)
    for (const auto& [scope, metric] : by_scope) metrics.push_back(metric);
  return metrics;
}

}  // namespace gradsync
