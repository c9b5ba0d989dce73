// How much of the device the kernels that compress and reconstruct gradients can fill: their theoretical occupancy, and
// whether their launches have a block for every multiprocessor. Never of NCCL's kernels, which take few blocks on purpose.
#include <algorithm>
#include <limits>
#include <map>
#include <set>

#include "analyzers/analyzers.h"
#include "analyzers/issued_work.h"
#include "analyzers/kernel_phases.h"
#include "analyzers/rows.h"

namespace gradsync {
namespace {

constexpr std::string_view kTable = "kernel_occupancy";
constexpr std::size_t kMostKernels = 20, kLongestName = 300;
constexpr std::int64_t kWhole = 100;

bool compresses(Phase phase) { return phase == Phase::compress || phase == Phase::decompress; }

// By the range that launched them, or by name where gradients are handled.
std::set<const Event*> compressing_kernels(const RankTimeline& rank, const Inputs& inputs) {
  std::set<const Event*> found;
  const KernelPhases phases(rank, {rank.first_time(), rank.last_time() + 1});
  for (const Event& event : rank.events)
    if (event.kind == Kind::kernel && event.on_stream() && compresses(phases.of(event))) found.insert(&event);
  NameKinds kinds(inputs.operator_classes, rank);
  for (const Work& work : issued_work(rank, kinds).list)
    if (work.event->kind == Kind::kernel && work.doing == Doing::gradient && work.kind->kind != WorkKind::none)
      found.insert(work.event);
  return found;
}

struct Sum {
  std::int64_t count = 0, ns = 0, occupied = 0;  // occupied: ns × percent
  std::int64_t grid_ns = 0, small_grid_ns = 0;   // of kernels whose grid could be compared
};

void add(Sum& sum, const Sum& more) {
  sum.count += more.count;
  sum.ns += more.ns;
  sum.occupied += more.occupied;
  sum.grid_ns += more.grid_ns;
  sum.small_grid_ns += more.small_grid_ns;
}

double percent(std::int64_t part, std::int64_t whole) {
  return 100 * static_cast<double>(part) / static_cast<double>(whole);
}
double occupancy(const Sum& sum) { return static_cast<double>(sum.occupied) / static_cast<double>(sum.ns); }

class KernelOccupancyAnalyzer final : public Analyzer {
 public:
  std::string_view name() const override { return "kernel_occupancy"; }

  void summarise(const RankTimeline& rank, const Inputs& inputs, Summary& summary) const override {
    const auto key = rank.strings->find("occupancy_percent");
    if (!key) return;  // no record of CUPTI's
    std::map<std::string_view, Sum> sums;
    for (const Event* kernel : compressing_kernels(rank, inputs)) {
      const auto told = rank.integer(*kernel, "occupancy_percent");
      if (!told || kernel->duration() <= 0) continue;
      const auto filled = rank.integer(*kernel, "multiprocessors_percent");
      const Nanoseconds ns = kernel->duration();
      add(sums[rank.name(*kernel)], {1, ns, ns * *told, filled ? ns : 0, filled && *filled < kWhole ? ns : 0});
    }
    if (sums.empty()) return;
    Series& table = summary.table(kTable, {"rank", "name", "count", "ns", "occupied", "grid_ns", "small_grid_ns"});
    for (const auto& [name, sum] : sums)
      table.rows.push_back({std::int64_t{rank.rank}, std::string(name.substr(0, kLongestName)), sum.count, sum.ns,
                            sum.occupied, sum.grid_ns, sum.small_grid_ns});
  }

  void conclude(const Summary& all, const Inputs&, Conclusions& conclusions) const override {
    const Series* table = all.find(kTable);
    if (table == nullptr) return;
    std::map<std::string, Sum> scopes, names;
    for (const auto& row : table->rows) {
      const auto number = [&row](std::size_t i) { return std::get<std::int64_t>(row[i]); };
      const Sum sum{number(2), number(3), number(4), number(5), number(6)};
      add(scopes["all"], sum);
      add(scopes["rank:" + std::to_string(number(0))], sum);
      add(names[std::get<std::string>(row[1])], sum);
    }
    for (const auto& [scope, sum] : scopes) {
      add_value(conclusions.metrics, "kernel.occupancy_percent", scope, occupancy(sum), sum.count, "cupti");
      if (sum.grid_ns > 0)
        add_value(conclusions.metrics, "kernel.small_grid_percent", scope, percent(sum.small_grid_ns, sum.grid_ns),
                  sum.count, "cupti");
    }
    add_series(names, conclusions);
  }

 private:
  static void add_series(const std::map<std::string, Sum>& names, Conclusions& conclusions) {
    std::vector<std::pair<std::string, Sum>> longest(names.begin(), names.end());
    std::stable_sort(longest.begin(), longest.end(),
                     [](const auto& a, const auto& b) { return a.second.ns > b.second.ns; });
    longest.resize(std::min(longest.size(), kMostKernels));
    Series series{"compress_kernels", {"name", "count", "total_ms", "occupancy_percent", "small_grid_percent"}, {}};
    for (const auto& [name, sum] : longest)
      series.rows.push_back(
          {name, sum.count, 1e-6 * static_cast<double>(sum.ns), occupancy(sum),
           sum.grid_ns > 0 ? percent(sum.small_grid_ns, sum.grid_ns) : std::numeric_limits<double>::quiet_NaN()});
    conclusions.series[series.name] = std::move(series);
  }
};

}  // namespace

std::unique_ptr<Analyzer> make_kernel_occupancy() { return std::make_unique<KernelOccupancyAnalyzer>(); }

}  // namespace gradsync
