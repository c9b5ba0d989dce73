// The report of one file, as analyze makes it, for tests of what is said about logs.
#pragma once

#include <doctest/doctest.h>

#include <filesystem>
#include <optional>
#include <string>

#include "src/commands/examine.h"
#include "src/commands/foreign_files.h"
#include "src/diagnosis/rule_set.h"

namespace gradsync::test {

// Nothing for a file that is refused with a reason: the importers' own tests read it.
inline std::optional<Report> report_of(const std::filesystem::path& file) {
  auto rules = builtin_rules();
  REQUIRE(rules);
  auto job = read_foreign_files({file}, rules->ranges, 1);
  if (!job) return std::nullopt;
  return conclude(job->ranks, job->inputs, *rules, {});
}

inline std::string fact(const Report& report, const std::string& key) {
  const auto found = report.facts.find(key);
  return found == report.facts.end() ? "" : found->second;
}

}  // namespace gradsync::test
