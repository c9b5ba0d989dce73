// Where sizes and device times of a GPU job's collectives come from, so that a number can be trusted as far as its source.
#include <algorithm>
#include <limits>
#include <map>
#include <tuple>

#include "analyzers/analyzers.h"
#include "analyzers/collective_time.h"
#include "analyzers/rows.h"

namespace gradsync {
namespace {

constexpr std::string_view kTable = "collective_sources";

bool on_gpu(const RankTimeline& rank, const Event& event) {
  return event.on_stream() || event.source == Source::nccl_nvtx || event.source == Source::nccl_wrapper ||
         event.source == Source::nccl_plugin || rank.fact("device") == "cuda";
}

struct Sum {
  std::int64_t count = 0, ns = 0;
};

// "412 by nccl_nvtx, 3 not told": the most first.
std::string in_words(const std::map<std::string, std::int64_t>& counts) {
  std::vector<std::pair<std::int64_t, std::string>> sorted;
  for (const auto& [source, count] : counts) sorted.emplace_back(-count, source);
  std::sort(sorted.begin(), sorted.end());
  std::string text;
  for (const auto& [count, source] : sorted) {
    std::string how = "by " + source;
    if (source == "none") how = "not told";
    if (source == to_string(TimeSource::host_bound)) how = "only bounded, by when its thread had waited";
    text += (text.empty() ? "" : ", ") + std::to_string(-count) + " " + how;
  }
  return text;
}

class CollectiveSourcesAnalyzer final : public Analyzer {
 public:
  std::string_view name() const override { return "collective_sources"; }

  void summarise(const RankTimeline& rank, const Inputs&, Summary& summary) const override {
    const CollectiveTimes times(rank);
    std::map<std::tuple<std::string, std::string, std::string>, Sum> sums;
    for (const Event& event : rank.events) {
      if (event.kind != Kind::collective || !on_gpu(rank, event)) continue;
      const CollectiveTime time = times.of(event);
      Sum& sum = sums[{std::string(rank.name(event)), std::string(times.bytes_from(event)),
                       std::string(to_string(time.source))}];
      ++sum.count;
      sum.ns += time.duration;
    }
    if (sums.empty()) return;
    Series& table = summary.table(kTable, {"rank", "operation", "bytes_from", "time_from", "count", "ns"});
    for (const auto& [key, sum] : sums)
      table.rows.push_back(
          {std::int64_t{rank.rank}, std::get<0>(key), std::get<1>(key), std::get<2>(key), sum.count, sum.ns});
  }

  void conclude(const Summary& all, const Inputs&, Conclusions& conclusions) const override {
    const Series* table = all.find(kTable);
    if (table == nullptr) return;
    std::map<std::tuple<std::string, std::string, std::string>, Sum> sums;
    std::map<std::string, std::int64_t> sizes, times;
    std::int64_t count = 0;
    for (const auto& row : table->rows) {
      const auto text = [&row](std::size_t i) { return std::get<std::string>(row[i]); };
      const std::int64_t n = std::get<std::int64_t>(row[4]);
      Sum& sum = sums[{text(1), text(2), text(3)}];
      sum.count += n;
      sum.ns += std::get<std::int64_t>(row[5]);
      sizes[text(2)] += n;
      times[text(3)] += n;
      count += n;
    }
    add_series(sums, conclusions);
    say("sizes of collectives", sizes, sizes["none"],
        "gradsync-doctor run --nccl calls, where NCCL is older than 2.16 or its ranges are off", conclusions);
    const std::int64_t unknown = times["none"] + times[std::string(to_string(TimeSource::host_bound))];
    say("device time of collectives", times, unknown,
        "gradsync-doctor run --deep cupti, or --nccl kernels (NCCL 2.27 and later)", conclusions);
    add_value(conclusions.metrics, "comm.gpu_timed_percent", "all",
              100.0 * static_cast<double>(count - unknown) / static_cast<double>(count), count, "collectives");
  }

 private:
  using Key = std::tuple<std::string, std::string, std::string>;

  static void add_series(const std::map<Key, Sum>& sums, Conclusions& conclusions) {
    Series series{"collective_sources", {"operation", "bytes_from", "time_from", "count", "mean_us", "at_most"}, {}};
    for (const auto& [key, sum] : sums) {
      const auto& [operation, bytes_from, time_from] = key;
      const bool timed = time_from != "none";
      series.rows.push_back({operation, bytes_from, time_from, sum.count,
                             timed ? Cell(1e-3 * static_cast<double>(sum.ns) / static_cast<double>(sum.count))
                                   : Cell(std::numeric_limits<double>::quiet_NaN()),
                             std::int64_t{time_from == to_string(TimeSource::host_bound)}});
    }
    conclusions.series[series.name] = std::move(series);
  }

  static void say(const char* what, const std::map<std::string, std::int64_t>& counts, std::int64_t unknown,
                  const char* hint, Conclusions& conclusions) {
    std::map<std::string, std::int64_t> known = counts;
    std::erase_if(known, [](const auto& entry) { return entry.second == 0; });
    std::int64_t all = 0;
    for (const auto& [source, count] : known) all += count;
    const CoverageState state = unknown == 0     ? CoverageState::collected
                                : unknown == all ? CoverageState::unavailable
                                                 : CoverageState::partial;
    conclusions.coverage.push_back({what, "", state, in_words(known), unknown == 0 ? "" : hint, 0});
  }
};

}  // namespace

std::unique_ptr<Analyzer> make_collective_sources() { return std::make_unique<CollectiveSourcesAnalyzer>(); }

}  // namespace gradsync
