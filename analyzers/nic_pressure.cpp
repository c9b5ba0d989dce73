// What network interfaces carried per step, and signs of congestion and loss, from the series `nic` and `nic_samples`.
// Each host's interfaces are held against the steps of its own ranks: looks and steps of a host are on one clock, whether
// or not the hosts' clocks could be aligned. Interfaces of a network namespace in which no rank is are none of the job's.
#include <algorithm>
#include <cstdlib>
#include <map>
#include <set>

#include "analyzers/analyzers.h"
#include "analyzers/rows.h"
#include "src/model/series_table.h"
#include "src/timeline/rank_timeline.h"

namespace gradsync {
namespace {

constexpr const char* kSource = "/sys";
constexpr std::string_view kRankPlaces = "nic_ranks";
constexpr double kFewestSegments = 1000;  // below, a share of retransmits moves by chance
constexpr int kFewestStepsBetween = 3;

using Spans = std::vector<std::pair<double, double>>;  // by start

struct Host {
  std::set<int> ranks;
  std::set<std::string> namespaces;  // of its ranks, as far as they told
};

// Where the job's ranks are.
struct Places {
  std::map<std::string, Host> hosts;
  std::size_t ranks = 0;
  std::int64_t world = 0;  // 0: not told

  // All messages stay in one network namespace: they use its loopback, or no interface at all.
  bool loopback() const {
    return hosts.size() == 1 && hosts.begin()->second.namespaces.size() <= 1 && ranks >= 2 &&
           (world <= 0 || world == static_cast<std::int64_t>(ranks));
  }
  const Host* find(const std::string& machine) const {
    const auto host = hosts.find(machine);
    if (host != hosts.end()) return &host->second;
    // Files of one machine do not always name it as its ranks do.
    return hosts.size() == 1 && hosts.begin()->first.empty() ? &hosts.begin()->second : nullptr;
  }
};

Places places_of(const Summary& all) {
  Places places;
  const Series* table = all.find(kRankPlaces);
  if (table == nullptr) return places;
  for (const auto& row : table->rows) {
    Host& host = places.hosts[std::get<std::string>(row[1])];
    host.ranks.insert(static_cast<int>(std::get<std::int64_t>(row[0])));
    if (const std::string& space = std::get<std::string>(row[2]); !space.empty()) host.namespaces.insert(space);
    places.world = std::max(places.world, std::get<std::int64_t>(row[3]));
    ++places.ranks;
  }
  return places;
}

// Of a host's first rank, warm-up included: they carry traffic as well.
Spans spans_of(const Host& host, const Summary& all) {
  Spans spans;
  const Series* table = all.find(kStepTable);
  if (table == nullptr || host.ranks.empty()) return spans;
  for (const auto& cells : table->rows) {
    const StepRow row(cells);
    if (row[StepColumn::rank] != *host.ranks.begin()) continue;
    const auto start = static_cast<double>(row[StepColumn::start]);
    spans.emplace_back(start, start + static_cast<double>(row[StepColumn::time]));
  }
  std::sort(spans.begin(), spans.end());
  return spans;
}

// Parts of steps count as parts.
double steps_between(const Spans& spans, double from, double to) {
  double count = 0;
  for (const auto& [start, end] : spans)
    if (end > start) count += std::max(0.0, std::min(end, to) - std::max(start, from)) / (end - start);
  return count;
}

// Unknown on either side: it may be.
bool may_be_of(const Host* host, const SeriesTable& table, const std::vector<Cell>& row) {
  const auto space = table.number(row, "namespace");
  if (host == nullptr || host->namespaces.empty() || !space) return true;
  return host->namespaces.contains(std::to_string(static_cast<std::int64_t>(*space)));
}

// "lo", "lo@4026532301"
bool is_loopback(const std::string& device) { return device == "lo" || device.starts_with("lo@"); }

struct Look {
  double at = 0, rx = 0, tx = 0;
};

struct PerStep {
  double rx = 0, tx = 0;
  std::int64_t steps = 0;
};

// Between the first and the last look inside the steps.
std::optional<PerStep> per_step(const std::vector<Look>& looks, const Spans& spans) {
  const Look *first = nullptr, *last = nullptr;
  for (const Look& look : looks) {
    if (look.at < spans.front().first || look.at > spans.back().second) continue;
    if (first == nullptr) first = &look;
    last = &look;
  }
  if (first == nullptr || last->rx < first->rx || last->tx < first->tx) return std::nullopt;
  const double count = steps_between(spans, first->at, last->at);
  if (count < kFewestStepsBetween) return std::nullopt;
  return PerStep{(last->rx - first->rx) / count, (last->tx - first->tx) / count, static_cast<std::int64_t>(count)};
}

void add_bytes(MetricSet& metrics, const std::string& scope, const PerStep& bytes) {
  add_value(metrics, "nic.rx_bytes_per_step", scope, bytes.rx, bytes.steps, kSource);
  add_value(metrics, "nic.tx_bytes_per_step", scope, bytes.tx, bytes.steps, kSource);
}

class NicPressureAnalyzer final : public Analyzer {
 public:
  std::string_view name() const override { return "nic_pressure"; }

  void summarise(const RankTimeline& rank, const Inputs& inputs, Summary& summary) const override {
    if (!inputs.series.contains("nic")) return;
    summary.table(kRankPlaces, {"rank", "host", "namespace", "world"})
        .rows.push_back({std::int64_t{rank.rank}, rank.process.host, rank.fact("net_namespace"),
                         std::int64_t{std::atoi(rank.fact("world_size").c_str())}});
  }

  void conclude(const Summary& all, const Inputs& inputs, Conclusions& conclusions) const override {
    const auto series = inputs.series.find("nic");
    if (series == inputs.series.end()) return;
    const Places places = places_of(all);
    if (places.ranks > 0) conclusions.facts["nic.path"] = places.loopback() ? "loopback" : "interfaces";
    const SeriesTable table(series->second);
    std::set<std::string> machines;
    for (const auto& row : table.rows()) machines.insert(table.text(row, "machine"));
    const bool several = machines.size() > 1;
    for (const auto& row : table.rows()) add_rates(table, row, places, several, conclusions.metrics);
    std::set<std::pair<std::string, std::string>>
        stacked;  // bonds, bridges: their bytes are those of the interfaces below
    for (const auto& row : table.rows())
      if (!table.text(row, "lower").empty()) stacked.emplace(table.text(row, "machine"), table.text(row, "device"));
    const auto in_sum = [&](const std::string& machine, const std::string& device) {
      return is_loopback(device) == places.loopback() && !stacked.contains({machine, device});
    };
    if (const auto samples = inputs.series.find("nic_samples"); samples != inputs.series.end())
      add_bytes_per_step(SeriesTable(samples->second), all, places, several, in_sum, conclusions.metrics);
  }

 private:
  // As interrupts: of several machines "device:MACHINE/D".
  static std::string scope_of(const std::string& machine, const std::string& device, bool several) {
    return "device:" + (several ? machine + "/" : "") + device;
  }

  static void add_rates(const SeriesTable& table, const std::vector<Cell>& row, const Places& places, bool several,
                        MetricSet& metrics) {
    const std::string machine = table.text(row, "machine");
    const std::string scope = scope_of(machine, table.text(row, "device"), several);
    const double seconds = table.number(row, "interval_s").value_or(0);
    if (seconds <= 0 || !may_be_of(places.find(machine), table, row)) return;
    const auto rate = [&](const char* metric, std::initializer_list<const char*> columns) {
      double sum = 0;
      bool known = false;
      for (const char* column : columns)
        if (const auto value = table.number(row, column)) {
          sum += *value;
          known = true;
        }
      if (known) add_value(metrics, metric, scope, sum / seconds, static_cast<std::int64_t>(sum), kSource);
    };
    rate("nic.drops_per_s", {"rx_dropped", "tx_dropped", "missed"});
    rate("nic.retransmits_per_s", {"retransmits"});
    rate("nic.pause_per_s", {"rx_pause", "tx_pause"});
    rate("nic.cnp_per_s", {"cnp_sent", "cnp_handled"});
    rate("nic.out_of_order_per_s", {"out_of_sequence", "packet_seq_err"});
    rate("nic.rnr_nak_per_s", {"rnr_nak"});
    const auto again = table.number(row, "retransmits"), sent = table.number(row, "out_segments");
    if (again) add_value(metrics, "nic.retransmit_count", scope, *again, 1, kSource);
    if (again && sent && *sent >= kFewestSegments)
      add_value(metrics, "nic.retransmit_percent", scope, 100 * *again / *sent, static_cast<std::int64_t>(*sent),
                kSource);
  }

  // The wire is what ranks of one namespace share with nobody else: its loopback where all of them are there, else all
  // other interfaces.
  template <class InSum>
  static void add_bytes_per_step(const SeriesTable& table, const Summary& all, const Places& places, bool several,
                                 const InSum& in_sum, MetricSet& metrics) {
    std::map<std::pair<std::string, std::string>, std::vector<Look>> devices;  // machine, device
    for (const auto& row : table.rows())
      if (const std::string machine = table.text(row, "machine"); may_be_of(places.find(machine), table, row))
        devices[{machine, table.text(row, "device")}].push_back({table.number(row, "at_ns").value_or(0),
                                                                 table.number(row, "rx_bytes").value_or(0),
                                                                 table.number(row, "tx_bytes").value_or(0)});
    std::map<const Host*, PerStep> wires;
    std::map<const Host*, std::string> names;
    for (const auto& [key, looks] : devices) {
      const auto& [machine, device] = key;
      const Host* const host = places.find(machine);
      const Spans spans = host == nullptr ? Spans{} : spans_of(*host, all);
      const auto bytes = spans.empty() ? std::nullopt : per_step(looks, spans);
      if (!bytes) continue;
      add_bytes(metrics, scope_of(machine, device, several), *bytes);
      if (!in_sum(machine, device)) continue;
      PerStep& wire = wires[host];
      wire = {wire.rx + bytes->rx, wire.tx + bytes->tx, std::max(wire.steps, bytes->steps)};
      names[host] = machine;
    }
    add_ratios(places, wires, names, metrics);
  }

  // What a rank hands to collectives is known as a mean over ranks. Over all hosts only when each of them told its bytes.
  static void add_ratios(const Places& places, const std::map<const Host*, PerStep>& wires,
                         const std::map<const Host*, std::string>& names, MetricSet& metrics) {
    const auto handed = metrics.value("comm.bytes_per_step", "all");
    const auto ratio = [&](const std::string& scope, std::size_t ranks, double sent, std::int64_t steps) {
      if (sent > 0 && handed && *handed > 0)
        add_value(metrics, "nic.effective_ratio_percent", scope, 100 * *handed * static_cast<double>(ranks) / sent,
                  steps, kSource);
    };
    double sent = 0;
    std::int64_t steps = 0;
    for (const auto& [host, wire] : wires) {
      sent += wire.tx;
      steps = std::max(steps, wire.steps);
      if (places.hosts.size() < 2) continue;
      const std::string scope = "host:" + names.at(host);
      add_bytes(metrics, scope, wire);
      ratio(scope, host->ranks.size(), wire.tx, wire.steps);
    }
    if (wires.size() == places.hosts.size()) ratio("all", places.ranks, sent, steps);
  }
};

}  // namespace

std::unique_ptr<Analyzer> make_nic_pressure() { return std::make_unique<NicPressureAnalyzer>(); }

}  // namespace gradsync
