#include "analyzers/device_copies.h"

#include <algorithm>
#include <charconv>

#include "analyzers/analyzers.h"
#include "analyzers/rows.h"

namespace gradsync {
namespace {

enum Column : std::size_t { kRank, kStep, kDeep, kCopy, kAlone, kToHost, kToDevice, kTime };

bool goes(std::string_view copy, std::string_view direction) { return copy.find(direction) != std::string_view::npos; }

double cell(const std::vector<Cell>& row, Column column) {
  return static_cast<double>(std::get<std::int64_t>(row[column]));
}

}  // namespace

void DeviceCopies::add(const StepSpan& step, const StepActivity& seen) {
  if (!seen.on_device || step.warm_up || step.variant != 0) return;
  const RankTimeline::Range range = rank_.beginning_in(step.interval());
  const Nanoseconds backward = backward_start(range);
  if (backward == 0) return;
  std::vector<Interval> copies;
  std::int64_t to_host = 0, to_device = 0;
  for (std::size_t i = range.first; i < range.last; ++i) {
    const Event& event = rank_.events[i];
    if (event.kind != Kind::copy || !event.on_stream() || event.start < backward) continue;
    copies.push_back({event.start, event.end});
    const std::string_view name = rank_.name(event);
    if (goes(name, "DtoH")) to_host += event.bytes;
    if (goes(name, "HtoD")) to_device += event.bytes;
  }
  const IntervalSet copied(std::move(copies));
  const Nanoseconds alone = copied.length() - intersect(copied, seen.activity[StepClass::compute]).length();
  rows_.push_back({std::int64_t{rank_.rank}, step.number, std::int64_t{step.deep}, std::int64_t{copied.length()},
                   std::int64_t{alone}, to_host, to_device, std::int64_t{step.end - step.start}});
}

// By the host's clock; 0 when nobody told.
Nanoseconds DeviceCopies::backward_start(RankTimeline::Range range) const {
  for (std::size_t i = range.first; i < range.last; ++i)
    if (const Event& event = rank_.events[i]; event.kind == Kind::range && event.phase == Phase::backward)
      return event.start;
  return 0;
}

void DeviceCopies::write(Summary& summary) const {
  if (rows_.empty()) return;
  Series& table = summary.table(
      kDeviceCopyTable, {"rank", "step", "deep", "copy_ns", "alone_ns", "to_host_bytes", "to_device_bytes", "time_ns"});
  table.rows.insert(table.rows.end(), rows_.begin(), rows_.end());
}

namespace {

class DeviceCopyAnalyzer final : public Analyzer {
 public:
  std::string_view name() const override { return "device_copies"; }
  void summarise(const RankTimeline&, const Inputs&, Summary&) const override {}  // step_pass.cpp

  void conclude(const Summary& all, const Inputs&, Conclusions& conclusions) const override {
    const std::vector<const std::vector<Cell>*> rows = rows_of(all);
    if (rows.size() < kFewestSteps) return;
    StepMeans alone_ms, alone_share, to_host, to_device;
    double copied = 0, alone = 0;
    for (const std::vector<Cell>* row : rows) {
      const auto step = std::get<std::int64_t>((*row)[kStep]);
      copied += cell(*row, kCopy);
      alone += cell(*row, kAlone);
      alone_ms.add(step, cell(*row, kAlone) * 1e-6);
      alone_share.add(step, 100 * cell(*row, kAlone) / cell(*row, kTime));
      to_host.add(step, cell(*row, kToHost));
      to_device.add(step, cell(*row, kToDevice));
    }
    MetricSet& metrics = conclusions.metrics;
    add_sample(metrics, "copies.exposed_ms", "all", alone_ms.sample(), "device");
    add_sample(metrics, "copies.exposed_percent", "all", alone_share.sample(), "device");
    add_sample(metrics, "copies.to_host_bytes_per_step", "all", to_host.sample(), "device");
    add_sample(metrics, "copies.to_device_bytes_per_step", "all", to_device.sample(), "device");
    const auto n = static_cast<std::int64_t>(rows.size());
    if (copied > 0) add_value(metrics, "copies.exposed_share_percent", "all", 100 * alone / copied, n, "device");
    add_ratios(to_host.sample(), to_device.sample(), n, conclusions);
  }

 private:
  // Plain steps where their device was recorded, else those of the deep window.
  static std::vector<const std::vector<Cell>*> rows_of(const Summary& all) {
    std::vector<const std::vector<Cell>*> plain, deep;
    if (const Series* table = all.find(kDeviceCopyTable))
      for (const auto& row : table->rows) (std::get<std::int64_t>(row[kDeep]) != 0 ? deep : plain).push_back(&row);
    return plain.empty() ? deep : plain;
  }

  static void add_ratios(const std::vector<double>& to_host, const std::vector<double>& to_device, std::int64_t n,
                         Conclusions& conclusions) {
    const auto mean = [](const std::vector<double>& sample) {
      double sum = 0;
      for (const double value : sample) sum += value;
      return sum / static_cast<double>(sample.size());
    };
    const auto sent = conclusions.metrics.value("comm.bytes_per_step", "all");
    if (sent && *sent > 0)
      add_value(conclusions.metrics, "copies.to_host_over_sent_percent", "all", 100 * mean(to_host) / *sent, n,
                "device");
    double gradient = 0;
    if (const auto fact = conclusions.facts.find("ddp.gradient_bytes"); fact != conclusions.facts.end())
      std::from_chars(fact->second.data(), fact->second.data() + fact->second.size(), gradient);
    if (gradient > 0)  // there and back: the smaller of the two is what makes the whole way
      add_value(conclusions.metrics, "copies.round_trip_percent", "all",
                100 * std::min(mean(to_host), mean(to_device)) / gradient, n, "device");
  }
};

}  // namespace

std::unique_ptr<Analyzer> make_device_copies() { return std::make_unique<DeviceCopyAnalyzer>(); }

}  // namespace gradsync
