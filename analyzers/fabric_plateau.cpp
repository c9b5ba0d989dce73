// What large messages reach of the link between nodes, and whether the numbers can be those of a collective at all.
//
// The upper guard holds where the algorithm is known: of a ring between neighbours no bus bandwidth exceeds the link
// by more than 5 %; an all-reduce over two nodes is usually a tree that sends each byte once, whose bus bandwidth is
// 2(N-1)/N of the link. With NVLS, SHARP or CollNet the switch adds, and with an unknown algorithm nobody knows: a note.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "analyzers/analyzers.h"
#include "analyzers/fabric_curves.h"
#include "src/base/statistics.h"
#include "src/base/units.h"
#include "src/model/series_table.h"

namespace gradsync {
namespace {

constexpr double kTolerance = 1.05;
constexpr double kLeastGuardUs = 1;
constexpr double kSettledShare = 10;        // percent of start-up at the largest message: above it is no plateau
constexpr double kSettledBytes = 64 << 20;  // where nothing was fitted

double nodes_of(const Inputs& inputs) {
  for (const char* name : {"sweep.nodes", "nccl.nodes", "hosts"})
    if (const double nodes = fact_number(inputs.facts, name); nodes > 0) return nodes;
  return kNotMeasured;
}

// GB/s of one node's link to the others: as the sweep says, else the slowest row of the interface in use.
double link_of(const Inputs& inputs, double nodes) {
  if (const double told = fact_number(inputs.facts, "link.gbits_per_s"); told > 0) return told / 8;
  const auto links = inputs.series.find("links");
  const auto used = inputs.facts.find("interface");
  if (!(nodes > 1) || links == inputs.series.end() || used == inputs.facts.end()) return kNotMeasured;
  const SeriesTable table(links->second);
  double slowest = kNotMeasured;
  for (const auto& row : table.rows())
    if (const auto speed = table.number(row, "gbits_per_s"); speed && table.text(row, "interface") == used->second)
      slowest = std::isfinite(slowest) ? std::min(slowest, *speed / 8) : *speed / 8;
  return slowest;
}

struct Plateau {
  double busbw = 0, bytes = 0, ranks = kNotMeasured;
};

// The best of the rows without load, once the start-up of one of them no longer counts. The best may be a smaller one:
// behind a cliff it is not the link that is slow.
Plateau plateau_of(const Series& rows) {
  const SeriesTable table(rows);
  Plateau plateau;
  bool any_settled = false;
  for (const auto& row : table.rows()) {
    const auto busbw = table.number(row, "busbw_gbytes_per_s"), share = table.number(row, "startup_share_percent");
    const double bytes = table.number(row, "bytes").value_or(0);
    if (!busbw || !table.text(row, "load").empty() || swept_beside_floats(table, row)) continue;
    any_settled |= share ? *share <= kSettledShare : bytes >= kSettledBytes;
    if (*busbw > plateau.busbw) plateau = {*busbw, bytes, table.number(row, "ranks").value_or(kNotMeasured)};
  }
  return any_settled ? plateau : Plateau{};
}

// What NCCL's log says was used for large messages; Gloo's are rings; empty: not known.
std::string algorithm_of(const Inputs& inputs, const std::string& operation, double bytes) {
  const auto backend = inputs.facts.find("backend");
  if (backend != inputs.facts.end() && backend->second == "gloo") return "Ring";
  const auto choices = inputs.series.find("nccl_choices");
  if (choices == inputs.series.end()) return "";
  const SeriesTable table(choices->second);
  std::string algorithm;
  double nearest = INFINITY;
  for (const auto& row : table.rows()) {
    const double off = std::abs(std::log(table.number(row, "bytes").value_or(0) / bytes));
    if (table.text(row, "operation") != operation || !(off < nearest)) continue;
    nearest = off;
    algorithm = table.text(row, "algorithm");
  }
  return algorithm;
}

std::string guard_of(const std::string& operation, const Plateau& plateau, const std::string& algorithm, double nodes,
                     double link) {
  for (const char* in_switch : {"NVLS", "SHARP", "CollNet", "COLLNET", "Collnet"})
    if (algorithm.find(in_switch) != std::string::npos)
      return "no upper guard: with " + algorithm + " more than the link is legitimate";
  if (algorithm.empty()) return "no upper guard: the algorithm is not known";
  const bool two_nodes = operation == "all_reduce" && nodes == 2;
  const double most = two_nodes && plateau.ranks > 0 ? link * 2 * (plateau.ranks - 1) / plateau.ranks : link;
  return fmt::format("{} of at most {}{}", plateau.busbw <= kTolerance * most ? "within the guard" : "above the guard",
                     format_value(most, "gbytes_per_s"), two_nodes ? " over two nodes" : "");
}

struct Doubt {
  std::string reason, where;
};

double guard_us(const Facts& facts, const char* empty_kernel) {
  const double kernel = fact_number(facts, empty_kernel);
  return kernel > kLeastGuardUs ? kernel : kLeastGuardUs;
}

// The only three reasons for which numbers are called no collective's.
std::optional<Doubt> doubt_about(const std::string& operation, const Series& rows, const Facts& facts) {
  const SeriesTable table(rows);
  std::optional<Doubt> doubt;
  for (const auto& row : table.rows()) {
    const std::string where = operation + " of " + format_bytes(table.number(row, "bytes").value_or(0));
    if (table.number(row, "ranks") == 1.0) return Doubt{"one rank", operation};
    if (table.number(row, "wrong").value_or(0) > 0) return Doubt{"wrong results", where};
    if (table.number(row, "p50_us").value_or(INFINITY) < guard_us(facts, "empty_kernel_us") && !doubt)
      doubt = Doubt{"too fast", where};
  }
  return doubt;
}

// Calls replayed from a graph skip the launch and have a guard of their own.
std::optional<Doubt> doubt_about_graphs(const std::string& operation, const Series& samples, const Facts& facts) {
  const SeriesTable table(samples);
  std::map<double, std::vector<double>> times;
  for (const auto& row : table.rows())
    if (const auto us = table.number(row, "graph_us")) times[table.number(row, "bytes").value_or(0)].push_back(*us);
  for (const auto& [bytes, us] : times)
    if (*median(us) < guard_us(facts, "empty_kernel_graph_us"))
      return Doubt{"too fast", operation + " of " + format_bytes(bytes) + " from a graph"};
  return std::nullopt;
}

class FabricPlateau final : public Analyzer {
 public:
  std::string_view name() const override { return "fabric_plateau"; }
  void summarise(const RankTimeline&, const Inputs&, Summary&) const override {}
  void conclude(const Summary&, const Inputs& inputs, Conclusions& conclusions) const override {
    add_doubts(inputs, conclusions);
    const double nodes = nodes_of(inputs), link = link_of(inputs, nodes);
    if (!(link > 0)) return;
    conclusions.facts["link.gbits_per_s"] = format_short(8 * link);
    Metric best;
    for (const auto& [name, rows] : conclusions.series) {
      if (!name.starts_with("sweep.") || name == "sweep.unknown") continue;
      const std::string operation = name.substr(6);
      const Plateau plateau = plateau_of(rows);
      if (plateau.busbw <= 0) continue;
      conclusions.facts["sweep.guard." + operation] =
          guard_of(operation, plateau, algorithm_of(inputs, operation, plateau.bytes), nodes, link);
      Metric metric;
      metric.name = "fabric." + operation + ".plateau_percent";
      metric.value = 100 * plateau.busbw / link;
      metric.source = "sweep";
      conclusions.metrics.add(metric);
      if (metric.value > best.value) best = metric;
    }
    if (best.name.empty()) return;
    // A link that one operation fills is sound, whatever keeps the others from it.
    conclusions.facts["sweep.plateau.where"] = best.name.substr(7, best.name.rfind('.') - 7);
    best.name = "fabric.plateau_percent";
    conclusions.metrics.add(best);
  }

 private:
  static void add_doubts(const Inputs& inputs, Conclusions& conclusions) {
    std::optional<Doubt> doubt;
    bool ranks_known = false, any = false;
    for (const auto& [name, rows] : conclusions.series) {
      if (!name.starts_with("sweep.")) continue;
      any = true;
      const std::string operation = name.substr(6);
      const SeriesTable table(rows);
      for (const auto& row : table.rows()) ranks_known |= table.number(row, "ranks").has_value();
      if (!doubt) doubt = doubt_about(operation, rows, inputs.facts);
      const auto samples = inputs.series.find("sweep_samples." + operation);
      if (!doubt && samples != inputs.series.end())
        doubt = doubt_about_graphs(operation, samples->second, inputs.facts);
    }
    if (doubt) {
      conclusions.facts["sweep.not_a_collective"] = doubt->reason;
      conclusions.facts["sweep.not_a_collective.where"] = doubt->where;
    } else if (any && ranks_known) {
      conclusions.facts["sweep.not_a_collective"] = "no";
    }
  }
};

}  // namespace

std::unique_ptr<Analyzer> make_fabric_plateau() { return std::make_unique<FabricPlateau>(); }

}  // namespace gradsync
