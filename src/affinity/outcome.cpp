#include "src/affinity/outcome.h"

namespace gradsync {

const char* to_string(IrqState state) {
  switch (state) {
    case IrqState::written:
      return "written";
    case IrqState::moved:
      return "moved";
    case IrqState::pending:
      return "pending";
    case IrqState::skipped:
      return "skipped";
    case IrqState::failed:
      return "failed";
    case IrqState::reverted:
      return "reverted";
    case IrqState::restored:
      return "restored";
    case IrqState::left:
      break;
  }
  return "left";
}

}  // namespace gradsync
