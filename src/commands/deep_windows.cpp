#include "src/commands/deep_windows.h"

#include "collectors/import/deep_window.h"

namespace gradsync {

void read_deep_windows(const RecordingFolder& folder, TimelineBuilder& builder, std::vector<Coverage>& coverage) {
  for (const WindowFile& window : folder.windows) {
    const std::optional<WindowClock> clock =
        builder.window_clock(window.host, window.pid, window.path.filename().string());
    if (!clock) {
      coverage.push_back({"deep window " + window.path.filename().string(), "", CoverageState::unavailable,
                          "no window event with its clock pairs: the process ended inside the window", "", 0});
      continue;
    }
    ProcessInfo process;
    process.host = window.host;
    process.pid = window.pid;
    builder.begin_process(process);
    const Result<DeepWindowStats> stats = import_deep_window(window.path, {clock->open, clock->close}, builder);
    Coverage entry{"deep window " + window.path.filename().string(), "", CoverageState::collected, "", "", 0};
    if (!stats) {
      entry.state = CoverageState::unavailable;
      entry.reason = stats.error().message();
    } else {
      builder.clock_residual(stats->clock_residual_us);
      entry.lost = stats->lost;
      if (stats->lost > 0) {
        entry.state = CoverageState::partial;
        entry.reason = stats->loss_reason;
      }
    }
    coverage.push_back(entry);
  }
}

}  // namespace gradsync
