#include "collectors/inject/cupti/plan.h"

#include <string.h>

namespace gradsync::cupti {
namespace {

constexpr uint32_t kWindows[] = {10, 100, 1000};

// Not strtoul: newer headers bind it to a symbol that glibc 2.17 lacks. Null when no digit is there.
const char* number(const char* text, uint32_t& value) {
  constexpr uint32_t kMost = 1'000'000'000;
  const char* end = text;
  for (value = 0; *end >= '0' && *end <= '9'; ++end)
    value = value < kMost ? value * 10 + static_cast<uint32_t>(*end - '0') : kMost;
  return end == text ? nullptr : end;
}

}  // namespace

Plan parse_plan(const char* text) {
  const Plan never{Watch::never, 0, 0};
  if (text == nullptr) return never;
  if (strcmp(text, "windows") == 0) return {Watch::windows, 0, 0};
  if (strcmp(text, "all") == 0) return {Watch::always, 0, 0};
  Plan plan{Watch::range, 0, 0};
  const char* end = number(text, plan.first);
  if (end == nullptr || *end != ':') return never;
  end = number(end + 1, plan.last);
  return end == nullptr || *end != 0 || plan.last <= plan.first ? never : plan;
}

Calls parse_calls(const char* text) {
  if (text != nullptr && strcmp(text, "none") == 0) return Calls::none;
  return text != nullptr && strcmp(text, "all") == 0 ? Calls::all : Calls::known;
}

bool watches(const Plan& plan, uint32_t step) {
  switch (plan.watch) {
    case Watch::always:
      return true;
    case Watch::range:
      return step >= plan.first && step < plan.last;
    case Watch::windows:
      for (const uint32_t first : kWindows)
        if (step >= first && step < first + kWindowSteps) return true;
      return false;
    case Watch::never:
      break;
  }
  return false;
}

}  // namespace gradsync::cupti
