// What the compression fingerprint says about real traces: compressed ones, the same job without it, plain training.
#include <doctest/doctest.h>

#include <algorithm>

#include "src/commands/examine.h"
#include "src/commands/foreign_files.h"
#include "src/diagnosis/rule_set.h"
#include "tests/unit/import/trace_files.h"

namespace gradsync {
namespace {

namespace fs = std::filesystem;

// A file of the corpus, or all of a folder.
std::vector<fs::path> files_of(const std::string& name) {
  const fs::path path = *test::corpus() / "kineto" / name;
  if (!fs::is_directory(path)) return {path};
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(path)) files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  return files;
}

Report report_of(const std::string& name) {
  auto rules = builtin_rules();
  REQUIRE(rules);
  auto job = read_foreign_files(files_of(name), rules->ranges, 1);
  REQUIRE_MESSAGE(job, name);
  load_name_classes(*rules, job->inputs);
  return conclude(job->ranks, job->inputs, *rules, {});
}

std::string fact(const Report& report, const std::string& key) {
  const auto found = report.facts.find(key);
  return found == report.facts.end() ? "" : found->second;
}

std::optional<double> value(const Report& report, const std::string& name, const std::string& scope) {
  for (const Metric& metric : report.metrics)
    if (metric.name == name && metric.scope == scope) return metric.value;
  return std::nullopt;
}

bool no_corpus() {
  if (test::corpus()) return false;
  MESSAGE("skipped: GSD_CORPUS names no folder");
  return true;
}

}  // namespace

TEST_CASE("one job with quantised communication and without: told apart, with its price and its bytes") {
  if (no_corpus()) return;
  const Report with = report_of("torchrec-sst_long_a2a_optimizer_5_qcomm-set1");
  CHECK(fact(with, "compression.fingerprint") == "quantise → all_to_all → reconstruct");
  CHECK(fact(with, "compression.wire_dtype") == "float16");
  for (const char* scope : {"all", "rank:0", "rank:1", "rank:2", "rank:3"}) {
    CAPTURE(scope);
    // Forward: clamp and cast; backward: cast; a cast back behind each. 2^28 elements of 2 bytes, twice.
    CHECK(value(with, "compress.kernels_per_step", scope) == 5);
    CHECK(value(with, "compress.wire_bytes", scope) == 1073741824);
    CHECK(value(with, "compress.kernel_ms", scope).value_or(0) == doctest::Approx(7.3).epsilon(0.03));
    CHECK(value(with, "decompress.kernel_ms", scope).value_or(0) == doctest::Approx(4.4).epsilon(0.06));
  }
  const Report without = report_of("torchrec-sst_long_a2a_optimizer_5-set1");
  CHECK(fact(without, "compression.fingerprint") == "none");
  CHECK(fact(without, "compression.wire_dtype").empty());
  CHECK_FALSE(value(without, "compress.kernel_ms", "all"));
  CHECK_FALSE(value(without, "compress.wire_bytes", "all"));
}

TEST_CASE("hooks that compress, on the host; eight-bit exchanges of a large job") {
  if (no_corpus()) return;
  CHECK(fact(report_of("own-gloo-cpu-2rank-topk"), "compression.fingerprint") ==
        "select+compact → all_gather → reconstruct");
  CHECK(fact(report_of("own-gloo-cpu-2rank-powersgd"), "compression.fingerprint") ==
        "error-feedback+low-rank → all_reduce → reconstruct");
  const Report large = report_of("hta-sampled");
  CHECK(fact(large, "compression.fingerprint") == "quantise → all_to_all → reconstruct");
  CHECK(fact(large, "compression.wire_dtype") == "uint8");
}

TEST_CASE("where nothing is compressed nothing is said to be") {
  if (no_corpus()) return;
  int looked = 0;
  for (const auto& entry : fs::directory_iterator(*test::corpus() / "kineto")) {
    const std::string name = entry.path().filename().string();
    CAPTURE(name);
    const bool compressed = name.find("qcomm") != std::string::npos || name.ends_with("topk") ||
                            name.ends_with("powersgd") || name == "hta-sampled";
    if (compressed) continue;
    const Report report = report_of(name);
    const std::string found = fact(report, "compression.fingerprint");
    CHECK_MESSAGE((found.empty() || found == "none"), found);
    CHECK_FALSE(value(report, "compress.kernels_per_step", "all"));
    ++looked;
  }
  MESSAGE("traces looked at: ", looked);
  CHECK(looked > 20);
}

}  // namespace gradsync
