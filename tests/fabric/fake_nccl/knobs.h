// What a test asks of the fakes, by variables of the rank's process (see README.md). Read anew at each use.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <string>

namespace fake {

inline std::string knob(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

inline std::int64_t knob(const char* name, std::int64_t otherwise) {
  const std::string text = knob(name);
  return text.empty() ? otherwise : std::strtoll(text.c_str(), nullptr, 10);
}

}  // namespace fake
