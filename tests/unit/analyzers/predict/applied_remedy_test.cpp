#include "analyzers/predict/applied_remedy.h"

#include <doctest/doctest.h>

using namespace gradsync;

namespace {

Report told(Facts facts, const std::vector<std::pair<std::string, double>>& metrics = {}) {
  Report report;
  report.facts = std::move(facts);
  for (const auto& [name, value] : metrics) report.metrics.push_back({.name = name, .value = value});
  return report;
}

}  // namespace

TEST_CASE("a remedy is known by what it changes") {
  struct Case {
    Report before, after;
    std::vector<std::string> remedies;
  };
  const std::vector<Case> cases{
      {told({{"compression", "topk"}}), told({{"compression", "none"}}), {"no_compression"}},
      {told({{"compression", "none"}}), told({{"compression", "fp16"}}), {"fp16_hook"}},
      {told({{"compression", "topk"}}), told({{"compression", "bf16"}}), {"fp16_hook"}},
      {told({{"compression", "none"}}), told({{"compression", "topk"}}), {}},
      {told({{"ddp.bucket_cap_mb", "1"}}), told({{"ddp.bucket_cap_mb", "25"}}), {"bucket_size"}},
      {told({{"ddp.bucket_bytes", "1, 2"}}), told({{"ddp.bucket_bytes", "3"}}), {"bucket_size"}},
      {told({{"ddp.bucket_cap_mb", "1"}}), told({}), {}},  // no longer told: nobody knows
      {told({}, {{"compress.wide_index_percent", 66}}),
       told({}, {{"compress.wide_index_percent", 0}}),
       {"int32_index"}},
      {told({}, {{"host_sync.in_hook_per_step", 3}}), told({}, {{"host_sync.in_hook_per_step", 0}}), {"no_host_sync"}},
      {told({}, {{"host_sync.in_hook_per_step", 3}}), told({}), {}},
      {told({{"nccl.transport", "socket"}}), told({{"nccl.transport", "ib"}}), {"rdma_bound"}},
      {told({{"ddp.bucket_cap_mb", "1"}}, {{"compress.wide_index_percent", 66}}),
       told({{"ddp.bucket_cap_mb", "25"}}, {{"compress.wide_index_percent", 0}}),
       {"bucket_size", "int32_index"}},
      // Without compression there are no indices either: that is no remedy of its own.
      {told({{"compression", "topk"}, {"ddp.bucket_bytes", "1"}}, {{"compress.wide_index_percent", 66}}),
       told({{"compression", "none"}, {"ddp.bucket_bytes", "2"}}, {{"compress.wide_index_percent", 0}}),
       {"no_compression"}},
      {told({{"compression", "topk"}}), told({{"compression", "topk"}}), {}},
  };
  for (const Case& c : cases) {
    CAPTURE(&c - cases.data());
    std::vector<std::string> found;
    for (const AppliedRemedy& one : applied_remedies(c.before, c.after)) {
      found.push_back(one.remedy);
      CHECK(one.sign.find(" → ") != std::string::npos);
    }
    CHECK(found == c.remedies);
  }
}

TEST_CASE("what a remedy changes itself is no other job") {
  CHECK(changes_fact("no_compression", "compression.place"));
  CHECK(changes_fact("fp16_hook", "hook.name"));
  CHECK_FALSE(changes_fact("bucket_size", "compression"));
  CHECK(changes_fact("bucket_size", "ddp.bucket_cap_mb"));
  CHECK_FALSE(changes_fact("no_compression", "ddp.bucket_cap_mb"));
  CHECK_FALSE(changes_fact("no_compression", "torch"));
}
