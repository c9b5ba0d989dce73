// Whether an interrupt carries its device's work.
#pragma once

namespace gradsync {

enum class VectorRole {
  queue,    // completions of a queue: the work that is spread over CPUs
  control,  // configuration, events, administration: one CPU is enough
  other,    // of no driver that is known, or a line that several devices share
};
const char* to_string(VectorRole role);

}  // namespace gradsync
