#include "src/model/report.h"

namespace gradsync {

const char* to_string(CoverageState state) {
  switch (state) {
    case CoverageState::collected:
      return "collected";
    case CoverageState::partial:
      return "partial";
    case CoverageState::unavailable:
      return "unavailable";
  }
  return "unavailable";
}

const char* to_string(Severity severity) {
  switch (severity) {
    case Severity::info:
      return "info";
    case Severity::warning:
      return "warning";
    case Severity::error:
      return "error";
  }
  return "info";
}

const char* to_string(FindingState state) {
  switch (state) {
    case FindingState::fired:
      return "fired";
    case FindingState::clean:
      return "clean";
    case FindingState::could_not_judge:
      return "could_not_judge";
  }
  return "could_not_judge";
}

const char* to_string(SavingKind kind) {
  switch (kind) {
    case SavingKind::bound:
      return "bound";
    case SavingKind::predicted:
      return "predicted";
    case SavingKind::measured:
      return "measured";
  }
  return "bound";
}

const char* to_string(VerdictSign sign) {
  switch (sign) {
    case VerdictSign::costs:
      return "costs";
    case VerdictSign::saves:
      return "saves";
    case VerdictSign::neutral:
      return "neutral";
    case VerdictSign::unknown:
      return "unknown";
  }
  return "unknown";
}

}  // namespace gradsync
