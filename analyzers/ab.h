// The measured counterfactual (run --ab): what the blocks with and without the communication hook say. Pure.
//
//   quadruple   A  B  B  A   or   B  A  A  B      A: with the hook, B: without; each a block of a few steps
//   effect      ½(A + A) − ½(B + B)               a drift of the job cancels
//   control     ½(first − last) + ½(second − third): the same blocks against their like; what it shows is no effect
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "src/base/rank_test.h"

namespace gradsync {

struct AbBlock {
  bool without = false;         // the hook was left out
  std::vector<double> samples;  // of its steps, mean over ranks
};

struct AbQuadruple {
  std::int64_t number = 0;
  double with = 0, without = 0;  // of the medians of two blocks each
  double effect = 0;             // with - without
  double control = 0;
};

// The whole ones of blocks by their number, four after four: two blocks of either kind, the first like the last.
std::vector<AbQuadruple> ab_quadruples(const std::map<std::int64_t, AbBlock>& blocks);

enum class AbAnswer { costs, saves, no_difference, too_few };

struct AbJudgement {
  AbAnswer answer = AbAnswer::too_few;
  PairedShift effect;  // with - without
  double control = 0;  // the largest that the control's 90 % interval holds, without its sign
};

// A sign needs at least kFewestQuadruples of them, p below kMostP, and an effect above the control.
inline constexpr std::size_t kFewestQuadruples = 10;
inline constexpr double kMostP = 0.01;
AbJudgement judge_ab(const std::vector<AbQuadruple>& quadruples);

}  // namespace gradsync
