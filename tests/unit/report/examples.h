// Small reports made by hand, for the tests of all renderers.
#pragma once

#include <string>

#include "src/model/report.h"

namespace gradsync {

// Top-K compression that costs more than it saves: findings on every diagnostic step but one, ranks judged apart,
// a folded symptom, a source that lost events.
Report slow_topk_report();

// Nothing fired: every rule judged is clean.
Report healthy_report();

// A trace of an unknown program: there is nothing to judge by.
Report unmeasured_report();

// A small sweep with one cliff, as the command sweep reports it.
Report sweep_report();

// Everything that a job can choose says `poison`.
Report poisoned_report(const std::string& poison);

}  // namespace gradsync
