// The sentence that heads the report. Its words and its cases are data: rules/verdict.toml. Pure.
//
// Beside the run's own metrics and facts, a case may test and print
//   fact   finding.<rule id>   fired, could_not_judge, clean: the gravest over its scopes
//   fact   worst               error, warning, info, none: the gravest severity that fired
//   fact   first.rule .title .says .where .scope .saving .saves   the first finding as printed; .saving is its kind
//                              (bound, predicted, measured, none), .saves its words (from [saving])
//   metric first.saved_ms      its saving, with @p10 and @p90
//   metric verdict.ms          the metric that the case's `ms` names, with @p10 and @p90: without its sign,
//                              unless its interval holds both signs
#pragma once

#include <vector>

#include "src/diagnosis/rule.h"

namespace gradsync {

Verdict verdict(const RuleSet& rules, const std::vector<Finding>& findings, const MetricSet& metrics,
                const Facts& facts);

}  // namespace gradsync
