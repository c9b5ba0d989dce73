#include "analyzers/predict/applied_remedy.h"

#include <algorithm>
#include <array>
#include <optional>

#include "analyzers/compare.h"
#include "src/base/units.h"

namespace gradsync {
namespace {

std::string fact_of(const Report& report, const std::string& name) {
  const auto found = report.facts.find(name);
  return found == report.facts.end() ? "" : found->second;
}

// Of a fact that both tell, and differently; else empty.
std::string changed(const Report& before, const Report& after, const std::string& fact) {
  const std::string was = fact_of(before, fact), is = fact_of(after, fact);
  return was.empty() || is.empty() || was == is ? "" : fact + " " + was + " → " + is;
}

// Of a metric that was above zero and is so no more; else empty.
std::string gone(const Report& before, const Report& after, std::string_view metric) {
  const Metric *was = metric_of(before, metric), *is = metric_of(after, metric);
  if (was == nullptr || is == nullptr || was->value <= 0 || is->value > 0) return "";
  return std::string(metric) + " " + format_short(was->value) + " → " + format_short(is->value);
}

bool is_half(const std::string& compression) { return compression == "fp16" || compression == "bf16"; }

struct Touched {
  std::string_view remedy, fact;
};
// Beginnings of facts; those of compression belong to every remedy that works on it.
constexpr std::array<Touched, 7> kTouched{{{"bucket_size", "ddp.bucket"},
                                           {"bucket_size", "ddp.largest_bucket"},
                                           {"rdma_bound", "nccl."},
                                           {"rdma_bound", "env.nccl_"},
                                           {"rdma_bound", "configuration."},
                                           {"rdma_bound", "topology."},
                                           {"two_level", "nccl."}}};
constexpr std::array<std::string_view, 3> kNotCompression{"bucket_size", "rdma_bound", "no_straggler"};

}  // namespace

std::vector<AppliedRemedy> applied_remedies(const Report& before, const Report& after) {
  std::vector<AppliedRemedy> applied;
  const auto add = [&](const char* remedy, std::string sign) {
    if (!sign.empty()) applied.push_back({remedy, std::move(sign)});
  };
  const std::string compression = changed(before, after, "compression"), now = fact_of(after, "compression");
  if (now == "none") add("no_compression", compression);
  if (is_half(now)) add("fp16_hook", compression);
  // Another compressor brings buckets, indices and waits of its own: then these are no signs.
  if (!compression.empty()) return applied;
  const std::string cap = changed(before, after, "ddp.bucket_cap_mb");
  add("bucket_size", cap.empty() ? changed(before, after, "ddp.bucket_bytes") : cap);
  add("int32_index", gone(before, after, "compress.wide_index_percent"));
  const std::string in_hook = gone(before, after, "host_sync.in_hook_per_step");
  add("no_host_sync", in_hook.empty() ? gone(before, after, "host_sync.count_per_step") : in_hook);
  if (const std::string now_network = fact_of(after, "nccl.network"); now_network.starts_with("IB"))
    add("rdma_bound", changed(before, after, "nccl.network"));
  else if (fact_of(after, "nccl.transport") == "ib")
    add("rdma_bound", changed(before, after, "nccl.transport"));
  return applied;
}

bool changes_fact(std::string_view remedy, std::string_view fact) {
  const bool of_compression = fact.starts_with("compression") || fact.starts_with("hook.");
  if (of_compression) return std::find(kNotCompression.begin(), kNotCompression.end(), remedy) == kNotCompression.end();
  return std::any_of(kTouched.begin(), kTouched.end(),
                     [&](const Touched& one) { return one.remedy == remedy && fact.starts_with(one.fact); });
}

}  // namespace gradsync
