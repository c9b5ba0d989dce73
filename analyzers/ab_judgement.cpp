#include <algorithm>
#include <cmath>

#include "analyzers/ab.h"
#include "src/base/statistics.h"

namespace gradsync {

std::vector<AbQuadruple> ab_quadruples(const std::map<std::int64_t, AbBlock>& blocks) {
  constexpr std::int64_t kBlocks = 4;
  std::vector<AbQuadruple> quadruples;
  for (auto first = blocks.begin(); first != blocks.end(); ++first) {
    if (first->first % kBlocks != 0) continue;
    std::vector<const AbBlock*> four;
    std::vector<double> middle;
    for (auto block = first; block != blocks.end() && block->first < first->first + kBlocks; ++block)
      if (const std::optional<double> value = median(block->second.samples)) {
        four.push_back(&block->second);
        middle.push_back(*value);
      }
    if (four.size() != kBlocks || four[0]->without != four[3]->without || four[1]->without != four[2]->without ||
        four[0]->without == four[1]->without)
      continue;
    const double outer = (middle[0] + middle[3]) / 2, inner = (middle[1] + middle[2]) / 2;
    AbQuadruple quadruple{first->first / kBlocks, outer, inner, 0, 0};
    if (four[0]->without) std::swap(quadruple.with, quadruple.without);
    quadruple.effect = quadruple.with - quadruple.without;
    quadruple.control = (middle[0] - middle[3] + middle[1] - middle[2]) / 2;
    quadruples.push_back(quadruple);
  }
  return quadruples;
}

AbJudgement judge_ab(const std::vector<AbQuadruple>& quadruples) {
  AbJudgement judgement;
  std::vector<double> effects, controls;
  for (const AbQuadruple& quadruple : quadruples) {
    effects.push_back(quadruple.effect);
    controls.push_back(quadruple.control);
  }
  const std::optional<PairedShift> effect = signed_rank(effects), control = signed_rank(controls);
  if (!effect || !control) return judgement;
  judgement.effect = *effect;
  judgement.control = std::max(std::abs(control->shift.p05), std::abs(control->shift.p95));
  if (quadruples.size() < kFewestQuadruples) return judgement;
  const double middle = effect->shift.estimate;
  const bool shown = effect->p < kMostP && std::abs(middle) > judgement.control;
  judgement.answer = !shown ? AbAnswer::no_difference : middle > 0 ? AbAnswer::costs : AbAnswer::saves;
  return judgement;
}

}  // namespace gradsync
