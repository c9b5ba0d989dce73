// Conditions and thresholds as rule files write them.
#pragma once

#include <string>
#include <string_view>

#include "src/base/result.h"
#include "src/diagnosis/condition.h"
#include "src/diagnosis/toml_tree.h"

namespace gradsync {

// "30 %", "64 KiB", "8 ms" in the unit of `metric`; an Error whose `why` and `hint` say what is expected.
Result<double> parse_threshold(std::string_view text, std::string_view metric);

// An inline table: { metric = …, above = … }, { fact = …, is = … }, { all = […] } or { any = […] }; in verdict.toml
// also { finding = RULE, is = STATE }, which tests the fact finding.RULE.
Result<Condition> parse_condition(const TomlNode& node, const std::string& file);

// The keys `all` and `any` of one table, read through its reader: both must hold when both are there.
Result<ConditionGroup> parse_conditions(TableReader& reader);

}  // namespace gradsync
