// Why the kernel refused a mask, by errno: what it means, what to do about it, and how the transaction goes on.
#pragma once

#include <string>

#include "src/base/cpu_list.h"

namespace gradsync {

enum class RefusalKind {
  managed,        // skip this one, go on
  cpu_full,       // try the next CPU
  cpu_gone,       // plan again
  read_only,      // stop: nothing here can be changed
  not_permitted,  // stop
  gone,           // the interrupt itself
  other,
};

struct Refusal {
  RefusalKind kind = RefusalKind::other;
  std::string says;
  std::string command;  // may be empty
};

Refusal explain_refusal(int error, int irq, const CpuList& wanted);

}  // namespace gradsync
