// The classes of a step as they are shown: in order, with communication as one item, numbers rounded so that the shown
// parts add up to the shown whole.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/model/report.h"

namespace gradsync {

struct StepPart {
  std::string name, label;
  double value = 0;             // ms, or percent where only shares are told
  std::int64_t ticks = 0;       // units of the last shown digit
  std::vector<StepPart> inner;  // phases of compute, parts of comm
};

// How numbers of this step are written.
struct StepDigits {
  int decimals = 0;
  std::string_view unit;  // " %" for shares
};

struct StepSplit {
  std::vector<StepPart> items;
  double total = 0;
  StepDigits digits;
};

// Nothing where no class has a time.
std::optional<StepSplit> step_split(const Report& report, const Attribution& attribution);

// "107.1", "54 %". A true zero is "0"; less than half of the last digit is "0.0".
std::string number_text(const StepPart& part, const StepDigits& digits);

// The names of classes in the order of display, and how people call them ("peer wait"; an unknown one as it is).
std::vector<std::string_view> step_classes();
std::string class_label(std::string_view name);

// "step", "rank 1 step"
std::string step_label(const Attribution& attribution);
// "inflated by observation: idle, …"; empty where nothing is.
std::string inflation_text(const Report& report, const Attribution& attribution);
// The metric in exactly this scope; null when it was not measured.
const Metric* metric_in(const Report& report, std::string_view name, const std::string& scope);

}  // namespace gradsync
