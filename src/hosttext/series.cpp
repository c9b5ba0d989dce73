#include "src/hosttext/series.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

namespace gradsync {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

Cell whole(double value) {
  if (!std::isfinite(value)) return kNaN;
  return static_cast<std::int64_t>(value);
}

std::int64_t whole_count(std::uint64_t count) {
  return static_cast<std::int64_t>(std::min<std::uint64_t>(count, std::numeric_limits<std::int64_t>::max()));
}

Series empty_irq_series() {
  return {"irq",
          {"device", "irq", "cpu", "count", "hard_us", "soft_us", "vector", "role", "interval_s", "source", "machine"},
          {}};
}

}  // namespace

Series sched_series(const std::vector<ThreadWait>& threads, const std::string& source) {
  Series series{"sched",
                {"thread", "count", "p50_us", "p99_us", "max_us", "migrations", "preempted_by", "mean_us", "wait_us",
                 "run_us", "unseen", "source"},
                {}};
  for (const ThreadWait& t : threads)
    series.rows.push_back({t.thread, t.count, t.p50_us, t.p99_us, t.max_us, whole(t.migrations), t.preempted_by,
                           t.mean_us, t.wait_us, t.run_us, whole(t.unseen), source});
  return series;
}

Series irq_series(const std::vector<InterruptCount>& counts, const IrqOrigin& origin) {
  Series series = empty_irq_series();
  for (const InterruptCount& c : counts)
    series.rows.push_back({c.vector.device, c.id, std::int64_t{c.cpu}, whole_count(c.count), kNaN, kNaN, c.handlers,
                           c.device ? to_string(c.vector.role) : "cpu", origin.seconds.value_or(kNaN), origin.source,
                           origin.machine});
  return series;
}

Series irq_series(const std::vector<IrqTime>& times, const IrqOrigin& origin) {
  Series series = empty_irq_series();
  for (const IrqTime& t : times) {
    const double us = static_cast<double>(t.time) * 1e-3;
    const InterruptVector vector = t.soft ? InterruptVector{} : interrupt_vector(t.handler);
    series.rows.push_back({vector.device, t.id, std::int64_t{t.cpu}, t.count, t.soft ? kNaN : us, t.soft ? us : kNaN,
                           t.handler, t.soft ? "softirq" : to_string(vector.role), origin.seconds.value_or(kNaN),
                           origin.source, origin.machine});
  }
  return series;
}

}  // namespace gradsync
