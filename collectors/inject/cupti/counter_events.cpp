#include "collectors/inject/cupti/counter_events.h"

#include "src/spool_writer/gsd.h"
#include "src/spool_writer/write_event.h"

namespace gradsync::cupti {
namespace {

// Thousandths, rounded down; attributes are integers. What is no number, or too large, is left out.
bool thousandths(double value, int64_t& whole) {
  constexpr double kMost = 9e15;
  if (!(value >= 0 && value < kMost)) return false;
  whole = static_cast<int64_t>(value * 1000);
  return true;
}

Status write_kernel(const CountedRange& range, size_t kernel) {
  double values[MetricSet::kMost] = {};
  const RangeProfiler& profiler = range.profiler;
  if (const Status status = range.metrics.evaluate(range.call, profiler.data(), profiler.data_bytes(), kernel, values))
    return status;
  spool::Attribute attributes[MetricSet::kMost];
  uint32_t count = 0;
  for (uint32_t i = 0; i < range.metrics.count(); ++i) {
    int64_t whole = 0;
    if (!thousandths(values[i], whole)) continue;
    attributes[count++] = {gsd_string(range.metrics.names()[i], -1), spool::AttributeType::integer, whole};
  }
  const spool::What what{spool::Kind::mark, spool::Phase::none, spool::Source::cupti, 0,
                         gsd_string("gpu_counters", -1)};
  const int64_t at = range.began_ns;
  spool::write_event(
      spool::t_lane, what, 0, GSD_WHERE(0, kernel),
      [at] {
        return spool::Span{at, at};
      },
      attributes, count);
  return Statuses::success;
}

}  // namespace

Status write_counted_range(const CountedRange& range) {
  for (size_t i = 0; i < range.profiler.kernels(); ++i)
    if (const Status status = write_kernel(range, i)) return status;
  const uint64_t event =
      gsd_event(GSD_WHAT(spool::Kind::mark, 0, spool::Source::cupti, 0, gsd_string("gpu_counters_range", -1)), 0, 0,
                range.began_ns, range.began_ns);
  gsd_attr_int(event, gsd_string("kernels", -1), static_cast<int64_t>(range.profiler.kernels()));
  gsd_attr_int(event, gsd_string("dropped", -1), static_cast<int64_t>(range.profiler.dropped()));
  gsd_attr_int(event, gsd_string("cost_ns", -1), spool::now() - range.asked_ns);
  return Statuses::success;
}

}  // namespace gradsync::cupti
