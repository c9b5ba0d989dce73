#include "collectors/import/kineto.h"

#include "collectors/import/trace_importer.h"
#include "collectors/import/trace_reader.h"

namespace gradsync {
namespace {

// First pass over a deep window: where its marker ranges are on the profile's clock.
class MarkerFinder final : public TraceEventHandler {
 public:
  void handle(const TraceEvent& event) override {
    if (event.phase != 'X' || !event.start || event.category == TraceCategory::device_annotation) return;
    const Nanoseconds middle = *event.start + event.duration.value_or(0) / 2;
    if (event.name == kClockOpen && !open_) open_ = middle;
    if (event.name == kClockClose) close_ = middle;
  }

  Result<ClockStamps> stamps(const std::filesystem::path& path) const {
    if (open_ && close_ && *open_ < *close_) return ClockStamps{*open_, *close_};
    std::string why = "its gsd_clock_close is not behind its gsd_clock_open";
    if (!open_ && !close_)
      why = "it has neither gsd_clock_open nor gsd_clock_close";
    else if (!open_ || !close_)
      why = open_ ? "it has no gsd_clock_close" : "it has no gsd_clock_open";
    return Error{"cannot place the deep window on the job's clock", path.string(), why, "", 3};
  }

 private:
  std::optional<Nanoseconds> open_, close_;
};

FoundRank choose_rank(const ImportOptions& options, const TraceMetadata& metadata, const std::filesystem::path& path) {
  if (options.rank) return {options.rank, RankSource::caller};
  if (const std::optional<int> told = valid_rank(metadata.rank)) return {told, RankSource::distributed_info};
  return rank_from_name(path);
}

// "cuda" when the trace shows device work; "cpu" when not even a runtime call; otherwise it cannot be told.
std::string device_of(const ImportStats& stats) {
  if (stats.devices > 0) return "cuda";
  return stats.count(Kind::host_call) + stats.count(Kind::host_sync) == 0 ? "cpu" : "";
}

void write_facts(const ImportStats& stats, const TraceMetadata& metadata, EventSink& sink) {
  const auto fact = [&sink](std::string_view key, const std::string& value) {
    if (!value.empty()) sink.fact(key, value);
  };
  fact("rank", stats.rank.rank ? std::to_string(*stats.rank.rank) : "");
  fact("world_size", stats.world_size > 0 ? std::to_string(stats.world_size) : "");
  fact("backend", stats.backend);
  fact("nccl", metadata.nccl);
  fact("device", device_of(stats));
  fact("gpu", metadata.device);
  fact("cuda", metadata.cuda);
}

}  // namespace

Result<ImportStats> import_kineto(const std::filesystem::path& path, const ImportOptions& options, EventSink& sink) {
  ClockMap clock;
  if (options.monotonic) {
    MarkerFinder markers;
    const Result<TraceReading> found = read_trace(path, markers);
    if (!found) return found.error();
    const Result<ClockStamps> stamps = markers.stamps(path);
    if (!stamps) return stamps.error();
    clock = ClockMap(*stamps, *options.monotonic);
  }
  TraceImporter importer(sink, clock, options.process);
  const Result<TraceReading> reading = read_trace(path, importer);
  if (!reading) return reading.error();
  ImportStats stats = importer.finish(*reading);
  const TraceMetadata& metadata = reading->metadata;
  stats.rank = choose_rank(options, metadata, path);
  stats.world_size = metadata.world_size.value_or(0);
  stats.backend = metadata.backend;
  stats.base_time = metadata.base_time;
  if (options.monotonic) stats.clock_residual = clock.residual();
  if (options.process) write_facts(stats, metadata, sink);
  return stats;
}

}  // namespace gradsync
