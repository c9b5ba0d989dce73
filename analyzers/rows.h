// The table `steps` that attribution's first half writes and later analyzers read, and the small arithmetic on tables
// that they share: picking a column of the counted steps, per rank or over all, and making a metric of it.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/model/analyzer.h"

namespace gradsync {

inline constexpr std::string_view kStepTable = "steps";
// Columns of kStepTable; times are nanoseconds.
enum class StepColumn : std::size_t {
  rank,
  step,
  variant,
  deep,
  warm_up,
  start,
  time,
  compute,
  compress,
  decompress,
  comm,
  memcpy,
  host_sync,
  launch,
  sched_irq,
  data,
  idle,
  forward,
  backward,
  optimizer,
  gradient,
  communicating,
  communicating_beside_compute,
  compressing,
  compress_after_backward,
  host_sync_count,
  host_sync_in_hook,
  first_send,
  sent_bytes,
  sent_after_backward_bytes,
  compress_gaps,
  on_device,  // kDevicePhases: its kernels' phases are known, too
};
inline constexpr std::int64_t kDevicePhases = 2;
const std::vector<std::string>& step_columns();

class StepRow {
 public:
  explicit StepRow(const std::vector<Cell>& cells, double scale = 1) : cells_(&cells), scale_(scale) {}
  std::int64_t operator[](StepColumn column) const {
    return std::get<std::int64_t>((*cells_)[static_cast<std::size_t>(column)]);
  }
  // Time of a column as it is reported. A step of the deep window that stands for plain ones (below) keeps its shares
  // and takes their length.
  double ms(StepColumn column) const { return static_cast<double>((*this)[column]) * 1e-6 * scale_; }

 private:
  const std::vector<Cell>* cells_;
  double scale_;
};

// Rows of the deep window's steps, warm-up left out.
std::vector<StepRow> deep_steps(const Summary& summary);
// The rows whose classes count, in order; empty when nothing was summarised. `rank` < 0: all ranks. Plain steps after
// warm-up; of a rank whose device was recorded in its deep window alone, the window's steps.
std::vector<StepRow> counted_steps(const Summary& summary, int rank = -1);

// How much the observation lengthened the counted steps, in percent: 0 where plain steps count, else the worst rank's.
// What depends on the host's pace (launch, idle, host_sync, data) means nothing above kMostInflation.
double window_inflation_percent(const Summary& summary);
inline constexpr double kMostInflation = 5, kMostInflationForTimes = 10;
std::vector<int> ranks_in(const Summary& summary);

// Fewer counted steps than these are no sample: what is measured per step is then absent, not shaky.
inline constexpr std::size_t kFewestSteps = 3;

// A metric over a sample, without a resolution: for what is a property of the job and no noisy measurement.
std::optional<Metric> spread_metric(std::string name, std::string scope, const std::vector<double>& sample,
                                    std::string source);
// A metric over a sample: value = p50, with p10, p90, n and bootstrap resolution. Nothing is added for an empty sample.
void add_sample(MetricSet& metrics, std::string name, std::string scope, const std::vector<double>& sample,
                std::string source);
void add_value(MetricSet& metrics, std::string name, std::string scope, double value, std::int64_t n,
               std::string source);

// add_sample of `value(row)` for each rank, and for scope all: there an observation is a step, the mean over the ranks
// that have a value. Rows without a value are left out; scopes with fewer than kFewestSteps too.
void add_per_step(Conclusions& conclusions, const Summary& summary, const std::string& name, const std::string& source,
                  const std::function<std::optional<double>(const StepRow&)>& value);
// The same over given rows.
void add_per_step(Conclusions& conclusions, const std::vector<StepRow>& rows, const std::string& name,
                  const std::string& source, const std::function<std::optional<double>(const StepRow&)>& value);

// One value per step from one per rank and step: the mean over ranks, in step order.
class StepMeans {
 public:
  void add(std::int64_t step, double value) {
    auto& [sum, count] = sums_[step];
    sum += value;
    ++count;
  }
  std::vector<double> sample() const;

 private:
  std::map<std::int64_t, std::pair<double, int>> sums_;
};

}  // namespace gradsync
