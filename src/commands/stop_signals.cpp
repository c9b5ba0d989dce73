#include "src/commands/stop_signals.h"

namespace gradsync {
namespace {

// A handler reaches nothing else.
std::atomic<bool> g_asked{false};
volatile sig_atomic_t g_number = 0;

constexpr std::array<int, 2> kSignals{SIGINT, SIGTERM};

void note(int number) {
  g_number = number;
  g_asked = true;
}

}  // namespace

StopSignals::StopSignals() {
  g_asked = false;
  g_number = 0;
  struct sigaction action {};
  action.sa_handler = note;
  action.sa_flags = static_cast<int>(SA_RESETHAND | SA_RESTART);
  for (std::size_t i = 0; i < kSignals.size(); ++i) ::sigaction(kSignals[i], &action, &before_[i]);
}

StopSignals::~StopSignals() {
  for (std::size_t i = 0; i < kSignals.size(); ++i) ::sigaction(kSignals[i], &before_[i], nullptr);
}

const std::atomic<bool>& StopSignals::asked() const { return g_asked; }
int StopSignals::number() const { return g_number; }

}  // namespace gradsync
