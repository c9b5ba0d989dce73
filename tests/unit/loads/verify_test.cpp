#include "loads/verify.h"
#include "loads/library.h"

#include <doctest/doctest.h>

#include "loads/error_feedback.h"

using namespace gradsync;

namespace {

void check_all(const LoadEntry& entry, const LoadOptions& options) {
  const std::vector<Check> checks = verify(entry.make, options);
  CHECK(checks.size() >= 3);
  for (const Check& check : checks) {
    INFO(entry.algorithm, " ", check.id, " ", check.what, ": ", check.measured);
    CHECK(check.passed);
  }
}

}  // namespace

TEST_CASE("every load passes every check") {
  for (const LoadEntry& entry : cpu_loads()) check_all(entry, {});
}

TEST_CASE("and with the options that change what it does") {
  const auto with = [](auto change) {
    LoadOptions options;
    change(options);
    return options;
  };
  for (const LoadEntry& entry : cpu_loads()) {
    if (entry.algorithm == "cast16") check_all(entry, with([](LoadOptions& o) { o.half = HalfFormat::bf16; }));
    if (entry.algorithm == "param_server") check_all(entry, with([](LoadOptions& o) { o.merge = Merge::apply_each; }));
    if (entry.algorithm == "qsgd") check_all(entry, with([](LoadOptions& o) { o.levels = 4; }));
    if (entry.algorithm == "topk_histogram") check_all(entry, with([](LoadOptions& o) { o.threads = 3; }));
  }
}
