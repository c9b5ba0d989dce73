// Which algorithm, protocol and how many channels NCCL used for which size: what its profiler plug-in interface told in
// the job, counted over all ranks. Behind the rows that NCCL's log gave, if there is one.
#include <cmath>
#include <limits>
#include <map>
#include <tuple>

#include "analyzers/analyzers.h"
#include "src/timeline/rank_timeline.h"

namespace gradsync {
namespace {

using Choice = std::tuple<std::string, std::int64_t, std::string, std::string, std::int64_t>;  // as the columns below
constexpr std::int64_t kNotTold = -1;

class NcclChoices final : public Analyzer {
 public:
  std::string_view name() const override { return "nccl_choices"; }

  void summarise(const RankTimeline& rank, const Inputs&, Summary& summary) const override {
    std::map<Choice, std::int64_t> counts;
    for (const Event& event : rank.events) {
      if (event.kind != Kind::collective) continue;
      const std::string_view algorithm = rank.text(event, "algorithm");
      if (algorithm.empty()) continue;
      ++counts[{std::string(rank.name(event)), event.bytes, std::string(algorithm),
                std::string(rank.text(event, "protocol")), rank.integer(event, "channels").value_or(kNotTold)}];
    }
    if (counts.empty()) return;
    Series& table =
        summary.table("nccl_choices", {"rank", "operation", "bytes", "algorithm", "protocol", "channels", "count"});
    for (const auto& [choice, count] : counts) {
      const auto& [operation, bytes, algorithm, protocol, channels] = choice;
      table.rows.push_back({std::int64_t{rank.rank}, operation, bytes, algorithm, protocol, channels, count});
    }
  }

  void conclude(const Summary& all, const Inputs& inputs, Conclusions& conclusions) const override {
    const Series* table = all.find("nccl_choices");
    if (table == nullptr) return;
    std::map<Choice, std::int64_t> counts;
    for (const auto& row : table->rows)
      counts[{std::get<std::string>(row[1]), std::get<std::int64_t>(row[2]), std::get<std::string>(row[3]),
              std::get<std::string>(row[4]), std::get<std::int64_t>(row[5])}] += std::get<std::int64_t>(row[6]);
    Series& series = conclusions.series["nccl_choices"];
    if (const auto log = inputs.series.find("nccl_choices"); log != inputs.series.end()) series = log->second;
    series.name = "nccl_choices";
    series.columns = {"operation", "bytes", "algorithm", "protocol", "channels", "count"};
    for (const auto& [choice, count] : counts) {
      const auto& [operation, bytes, algorithm, protocol, channels] = choice;
      const Cell known = channels == kNotTold ? Cell(std::numeric_limits<double>::quiet_NaN()) : Cell(channels);
      series.rows.push_back({operation, bytes, algorithm, protocol, known, count});
    }
  }
};

}  // namespace

std::unique_ptr<Analyzer> make_nccl_choices() { return std::make_unique<NcclChoices>(); }

}  // namespace gradsync
