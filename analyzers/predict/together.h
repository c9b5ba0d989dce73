// Several remedies at once, as one: what they save together is not the sum of what each saves alone. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "analyzers/predict/remedies.h"

namespace gradsync {

// They change the same thing, or one takes away what the other works on.
bool conflict(const std::string& a, const std::string& b);

// `best_first`: remedies that are predicted and worth trying. The first, and each further one that conflicts with none
// taken before it and still saves something on the graphs that those have made. The name lists them, "a + b"; the cap is
// the sum of theirs (predict() keeps every remedy below step minus useful compute). Nothing where fewer than two remain.
std::optional<Remedy> together(const std::vector<Remedy>& best_first, const std::vector<StepGraph>& ranks);

}  // namespace gradsync
