#include "collectors/import/deep_window.h"

#include "collectors/import/kineto.h"

namespace gradsync {

Result<DeepWindowStats> import_deep_window(const std::filesystem::path& path, ClockStamps monotonic, EventSink& sink) {
  ImportOptions options;
  options.monotonic = monotonic;
  const Result<ImportStats> imported = import_kineto(path, options, sink);
  if (!imported) return imported.error();
  DeepWindowStats stats;
  stats.events = imported->events;
  stats.lost = static_cast<std::int64_t>(imported->lost);
  stats.loss_reason = imported->loss_reason;
  stats.clock_residual_us = static_cast<double>(imported->clock_residual.value_or(0)) * 1e-3;
  return stats;
}

}  // namespace gradsync
