// The device's whole recorded time, per rank: how long it was busy, with what, and how much of its communication had
// compute beside it. Intervals are united, never summed: two kernels side by side are busy once.
//
//   span         first start … last end of everything on a stream
//   idle         span - union of all of it
//   compute      union of kernels that are neither collectives nor copies
//   non_compute  span - idle - compute: communication and copies with no compute beside them
//
// Definitions as in Holistic Trace Analysis; what differs, and why, is worked out in tests/README.md. Of a job's deep
// window these numbers would be those of a few steps with a pause between, so only traces of whole files have them.
#include <algorithm>
#include <map>

#include "analyzers/analyzers.h"
#include "analyzers/gradient_path.h"
#include "analyzers/rows.h"
#include "src/timeline/rank_timeline.h"

namespace gradsync {
namespace {

constexpr std::string_view kTable = "device_time";
enum Column : std::size_t { kRank, kEvents, kSpan, kBusy, kCompute, kCommunication, kOverlap, kSameStream, kOnHost };
const std::vector<std::string> kColumns{"rank",       "events",         "span_ns",
                                        "busy_ns",    "compute_ns",     "communication_ns",
                                        "overlap_ns", "same_stream_ns", "on_host"};

struct DeviceTime {
  std::int64_t events = 0;
  Nanoseconds span = 0, busy = 0, compute = 0, communication = 0, overlap = 0;
  Nanoseconds same_stream = 0;  // of collectives in the stream that computes most, summed
  std::int64_t on_host = 0;     // collectives of a backend that works there
};

DeviceTime measure(const RankTimeline& rank) {
  DeviceTime time;
  std::vector<Interval> all, compute, communication;
  Nanoseconds first = 0, last = 0;
  std::map<LaneId, std::pair<Nanoseconds, Nanoseconds>> streams;  // kernels, collectives
  for (const Event& event : rank.events) {
    const bool kernel = event.kind == Kind::kernel, collective = event.kind == Kind::collective;
    time.on_host += collective && spans_on_host(event);
    if (!event.on_stream() || event.end < event.start) continue;
    if (!kernel && !collective && event.kind != Kind::copy && event.kind != Kind::memset) continue;
    first = time.events == 0 ? event.start : std::min(first, event.start);
    last = time.events == 0 ? event.end : std::max(last, event.end);
    ++time.events;
    all.push_back({event.start, event.end});
    if (kernel) compute.push_back({event.start, event.end});
    if (collective) communication.push_back({event.start, event.end});
    if (kernel) streams[event.lane].first += event.duration();
    if (collective) streams[event.lane].second += event.duration();
  }
  const IntervalSet computing(std::move(compute)), communicating(std::move(communication));
  time.span = last - first;
  time.busy = IntervalSet(std::move(all)).length();
  time.compute = computing.length();
  time.communication = communicating.length();
  time.overlap = intersect(computing, communicating).length();
  const auto busiest = std::max_element(streams.begin(), streams.end(),
                                        [](const auto& a, const auto& b) { return a.second.first < b.second.first; });
  if (busiest != streams.end() && busiest->second.first > 0) time.same_stream = busiest->second.second;
  return time;
}

bool whole_file(const RankTimeline& rank) {
  return std::none_of(rank.steps.begin(), rank.steps.end(), [](const StepSpan& step) { return step.deep; });
}

// What holds for any intervals. A violation is an error of this program and must not pass for a measurement.
bool adds_up(const DeviceTime& time) {
  return time.compute <= time.busy && time.communication <= time.busy && time.busy <= time.span &&
         time.overlap <= std::min(time.compute, time.communication) &&
         time.compute + time.communication - time.overlap <= time.busy;
}

class DeviceTimeAnalyzer final : public Analyzer {
 public:
  std::string_view name() const override { return "device_time"; }

  void summarise(const RankTimeline& rank, const Inputs&, Summary& summary) const override {
    if (!whole_file(rank)) return;
    const DeviceTime time = measure(rank);
    if (time.events == 0) return;
    summary.table(kTable, kColumns)
        .rows.push_back({std::int64_t{rank.rank}, time.events, std::int64_t{time.span}, std::int64_t{time.busy},
                         std::int64_t{time.compute}, std::int64_t{time.communication}, std::int64_t{time.overlap},
                         std::int64_t{time.same_stream}, time.on_host});
  }

  void conclude(const Summary& all, const Inputs&, Conclusions& conclusions) const override {
    const Series* table = all.find(kTable);
    if (table == nullptr) return;
    Nanoseconds communication = 0, same_stream = 0;
    std::int64_t on_host = 0;
    for (const auto& row : table->rows) {
      communication += std::get<std::int64_t>(row[kCommunication]);
      same_stream += std::get<std::int64_t>(row[kSameStream]);
      on_host += std::get<std::int64_t>(row[kOnHost]);
    }
    if (communication == 0 && on_host == 0) conclusions.facts["communication"] = "none seen";
    if (communication > 0 && 2 * same_stream >= communication) conclusions.facts["communication.stream"] = "compute";
    for (const auto& row : table->rows) {
      const auto cell = [&row](Column column) { return std::get<std::int64_t>(row[column]); };
      const DeviceTime time{cell(kEvents),        cell(kSpan),    cell(kBusy),      cell(kCompute),
                            cell(kCommunication), cell(kOverlap), cell(kSameStream)};
      const std::string scope = "rank:" + std::to_string(cell(kRank));
      if (adds_up(time))
        add_metrics(time, scope, conclusions.metrics);
      else
        conclusions.coverage.push_back({"device time " + scope, "", CoverageState::unavailable,
                                        "its parts do not add up: this is an error in gradsync-doctor",
                                        "please report it with the trace", 0});
    }
  }

 private:
  static void add_metrics(const DeviceTime& time, const std::string& scope, MetricSet& metrics) {
    const auto us = [](Nanoseconds ns) { return static_cast<double>(ns) * 1e-3; };
    const auto add = [&](const char* name, double value) {
      add_value(metrics, name, scope, value, time.events, "device");
    };
    const Nanoseconds idle = time.span - time.busy;
    add("gpu.span_us", us(time.span));
    add("gpu.idle_us", us(idle));
    add("gpu.compute_us", us(time.compute));
    add("gpu.non_compute_us", us(time.span - idle - time.compute));
    if (time.span > 0) add("gpu.idle_percent", 100 * static_cast<double>(idle) / static_cast<double>(time.span));
    if (time.communication > 0) {
      add("gpu.comm_us", us(time.communication));
      add("gpu.comm_overlap_percent",
          100 * static_cast<double>(time.overlap) / static_cast<double>(time.communication));
    }
  }
};

}  // namespace

std::unique_ptr<Analyzer> make_device_time() { return std::make_unique<DeviceTimeAnalyzer>(); }

}  // namespace gradsync
