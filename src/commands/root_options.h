// --root DIR, --proc-root DIR and --sys-root DIR, for every command that reads what a machine is: files that somebody
// sent, or the host's as a container sees them.
#pragma once

#include <string>

#include "collectors/host/irq_snapshot.h"

namespace CLI {
class App;
}

namespace gradsync {

struct RootOptions {
  std::string root, proc, sys;

  // The last two name folders that stand for /proc and /sys themselves, and go before the first.
  IrqRoots roots() const;
};

void declare_roots(CLI::App& app, RootOptions& options);

}  // namespace gradsync
