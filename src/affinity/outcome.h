// What became of one interrupt that the transaction touched.
#pragma once

#include <string>

#include "src/base/cpu_list.h"

namespace gradsync {

enum class IrqState {
  written,   // the mask is there; not looked at since
  moved,     // its interrupts come on the wanted CPU
  pending,   // the mask is there; the kernel moves it when it next comes
  skipped,   // the kernel keeps it to itself (managed)
  failed,    // refused, or it did not follow its mask
  reverted,  // somebody wrote another mask
  restored,  // as it was before
  left,      // not restored: somebody else has changed it since
};
const char* to_string(IrqState state);

struct IrqOutcome {
  int irq = 0;
  std::string action, device;
  CpuList wanted;
  IrqState state = IrqState::written;
  std::string says;     // in words, where there is something to say
  std::string command;  // what helps
};

}  // namespace gradsync
