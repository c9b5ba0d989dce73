// Placeholders in the texts of rules:
//   {step.time_ms}  {comm.message_bytes@p50}   a metric with its unit, in the scope judged, else in `all`
//   {fact:backend}                             a fact
//   {scope}                                    "rank 1", "group dp", "all ranks"
//   [[ It is idle for {straggler.idle_percent}.]]  left out as a whole when something in it was not measured
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/diagnosis/condition.h"

namespace gradsync {

// The text with its numbers; "(not measured)" stands for what is missing.
std::string fill(std::string_view text, const Situation& situation);

// Nothing when something is missing.
std::optional<std::string> fill_if_known(std::string_view text, const Situation& situation);

// Names of metrics in the text, with their quantiles, in order of appearance, each once.
std::vector<std::string> metrics_in(std::string_view text);

// Why the text is malformed ("{scop} is neither a metric, …"); nothing when it is well formed.
std::optional<std::string> malformed(std::string_view text);

// "rank:1" → "rank 1", "all" → "all ranks".
std::string scope_in_words(std::string_view scope);

}  // namespace gradsync
