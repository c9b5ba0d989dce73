// Ctrl-C and SIGTERM as a wish that is looked at between measurements: what was measured is still reported.
#pragma once

#include <signal.h>

#include <array>
#include <atomic>

namespace gradsync {

// While one lives. A second signal of the kind ends the process as ever.
class StopSignals {
 public:
  StopSignals();
  ~StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

  const std::atomic<bool>& asked() const;
  int number() const;  // of the signal; 0: none came

 private:
  std::array<struct sigaction, 2> before_{};
};

}  // namespace gradsync
