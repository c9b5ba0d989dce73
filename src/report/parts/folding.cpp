#include "src/report/parts/folding.h"

namespace gradsync {

Folding::Folding(const Report& report) {
  for (const Finding& finding : report.findings)
    if (finding.state == FindingState::fired) fired_.push_back(&finding);
  for (const Finding* finding : fired_) top_[finding] = root_of(*finding);
}

std::vector<const Finding*> Folding::below(const Finding* top) const {
  std::vector<const Finding*> found;
  for (const Finding* finding : fired_)
    if (top_.at(finding) == top) found.push_back(finding);
  return found;
}

// The finding of the explaining rule in the same scope, else its first one.
const Finding* Folding::cause_of(const Finding& finding) const {
  const Finding* cause = nullptr;
  for (const Finding* candidate : fired_) {
    if (finding.folded_under.empty() || candidate->rule != finding.folded_under || candidate == &finding) continue;
    if (candidate->scope == finding.scope) return candidate;
    if (cause == nullptr) cause = candidate;
  }
  return cause;
}

// Findings that explain each other in a circle are all numbered: none may vanish.
const Finding* Folding::root_of(const Finding& finding) const {
  const Finding* root = cause_of(finding);
  for (std::size_t hops = 0; root != nullptr; ++hops) {
    const Finding* next = cause_of(*root);
    if (next == nullptr) return root;
    if (hops > fired_.size()) return nullptr;
    root = next;
  }
  return nullptr;
}

}  // namespace gradsync
