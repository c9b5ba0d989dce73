// Collectives of gradient synchronisation: how many, how large, how long; what is compressed and what still travels
// dense. First half: message_sums.h.
#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <tuple>

#include "analyzers/analyzers.h"
#include "analyzers/message_sums.h"
#include "analyzers/rows.h"

namespace gradsync {
namespace {

std::int64_t number(const std::vector<Cell>& row, std::size_t column) { return std::get<std::int64_t>(row[column]); }
const std::string& text(const std::vector<Cell>& row, std::size_t column) { return std::get<std::string>(row[column]); }

class MessagesAnalyzer final : public Analyzer {
 public:
  std::string_view name() const override { return "messages"; }

  void summarise(const RankTimeline&, const Inputs&, Summary&) const override {}  // step_pass.cpp

  void conclude(const Summary& all, const Inputs&, Conclusions& conclusions) const override {
    add_path(all, conclusions);
    add_traffic(all, conclusions);
    add_messages(all, conclusions);
    if (!exchange_unseen(all, conclusions.facts)) return;
    conclusions.facts["communication"] = "none seen";
    conclusions.coverage.push_back({"exchange between the ranks", "", CoverageState::unavailable,
                                    "no step shows one: the job does not use torch.distributed for it, or not there",
                                    "analyze a trace of the device beside NCCL's log", 0});
    conclusions.facts.erase("compression");  // of an exchange that nobody saw it is not known
    conclusions.facts.erase("compression.place");
  }

 private:
  static void add_path(const Summary& all, Conclusions& conclusions) {
    const Series* table = all.find(kPathTable);
    if (table == nullptr || table->rows.empty()) return;
    std::int64_t gradient = 0, dense = 0, wire = 0, steps = 0, index_reduces = 0, compressed = 0, wide = 0;
    for (const auto& row : table->rows) {
      gradient += number(row, 6) * number(row, 9);
      dense += number(row, 7);
      wire += number(row, 8);
      steps += number(row, 9);
      index_reduces += number(row, 10);
      compressed += number(row, 11);
      wide += number(row, 14);
    }
    Facts& facts = conclusions.facts;
    const auto& first = table->rows.front();
    if (!text(first, 1).empty()) facts["compression"] = text(first, 1);
    facts["compression.place"] = text(first, 2);
    if (text(first, 1) != "none" && !text(first, 1).empty())
      facts["compression.started"] = number(first, 3) != 0 ? "yes" : "no";
    if (number(first, 4) >= 0) facts["compression.start_step"] = std::to_string(number(first, 4));
    if (!text(first, 12).empty()) facts["where.compress"] = text(first, 12);
    if (!text(first, 13).empty()) facts["where.sync"] = text(first, 13);
    if (number(first, 3) == 0)
      add_value(conclusions.metrics, "compress.steps_until_start", "all",
                static_cast<double>(number(first, 4) - number(first, 5)), steps, "torch_hook");
    if (steps < static_cast<std::int64_t>(kFewestSteps)) return;
    const auto per_step = [&](std::int64_t count) { return static_cast<double>(count) / static_cast<double>(steps); };
    if (gradient > 0 && (dense > 0 || compressed > 0))
      add_value(conclusions.metrics, "comm.dense_ratio_percent", "all",
                100.0 * static_cast<double>(dense) / static_cast<double>(gradient), steps, "torch_hook");
    if (compressed == 0) return;
    if (gradient > 0)
      add_value(conclusions.metrics, "compress.wire_ratio_percent", "all",
                100.0 * static_cast<double>(wire) / static_cast<double>(gradient), steps, "torch_hook");
    if (wire > 0)
      add_value(conclusions.metrics, "compress.wide_index_percent", "all",
                100.0 * static_cast<double>(wide) / static_cast<double>(wire), steps, "torch_hook");
    add_value(conclusions.metrics, "compress.collectives_per_step", "all", per_step(compressed), steps, "torch_hook");
    add_value(conclusions.metrics, "compress.index_all_reduce_per_step", "all", per_step(index_reduces), steps,
              "torch_hook");
  }

  // What a ring of all ranks makes a rank send for `bytes` of its own input; operations that are no ring's: nothing.
  static std::optional<double> ring_bytes(const std::string& operation, double bytes, double ranks) {
    if (operation == "all_reduce") return 2 * (ranks - 1) / ranks * bytes;
    if (operation == "all_gather" || operation == "reduce_scatter") return (ranks - 1) * bytes;  // the part per rank
    if (operation == "all_to_all") return (ranks - 1) / ranks * bytes;
    return std::nullopt;
  }

  // Compressed payloads are gathered: every rank's passes every other, which grows with their number.
  static void add_traffic(const Summary& all, Conclusions& conclusions) {
    const Series* table = all.find(kMessageTable);
    const Series* paths = all.find(kPathTable);
    const auto world = conclusions.facts.find("world_size");
    if (table == nullptr || paths == nullptr || world == conclusions.facts.end()) return;
    double ranks = 0;
    std::from_chars(world->second.data(), world->second.data() + world->second.size(), ranks);
    double dense = 0, sent = 0;
    std::int64_t steps = 0;
    for (const auto& row : paths->rows) {
      steps += number(row, 9);
      dense += static_cast<double>(number(row, 6) * number(row, 9)) * 2 * (ranks - 1) / ranks;
    }
    for (const auto& row : table->rows) {
      if (number(row, 4) == 0) continue;
      const auto bytes = ring_bytes(text(row, 2), static_cast<double>(number(row, 3) * number(row, 6)), ranks);
      if (!bytes) return;
      sent += *bytes;
    }
    if (ranks < 2 || dense <= 0 || sent <= 0 || steps < static_cast<std::int64_t>(kFewestSteps)) return;
    add_value(conclusions.metrics, "compress.traffic_ratio_percent", "all", 100 * sent / dense, steps, "torch_hook");
  }

  struct Group {
    std::int64_t count = 0, bytes = 0;
    std::vector<double> sizes;  // every message once, bounded
  };

  static void add_messages(const Summary& all, Conclusions& conclusions) {
    const Series* table = all.find(kMessageTable);
    const Series* paths = all.find(kPathTable);
    if (table == nullptr || paths == nullptr) return;
    std::int64_t steps = 0;
    for (const auto& row : paths->rows) steps += number(row, 9);
    if (steps < static_cast<std::int64_t>(kFewestSteps) || table->rows.empty()) return;
    std::map<std::string, Group> groups;
    std::map<std::tuple<std::string, std::string, std::int64_t>, MessageSum> lines;
    std::int64_t extrapolated = 0;
    for (const auto& row : table->rows) {
      for (const std::string& scope : {std::string("all"), "group:" + text(row, 1)}) {
        Group& group = groups[scope];
        group.count += number(row, 6);
        group.bytes += number(row, 6) * number(row, 3);
        // Sizes are weighted by how often they travel, in hundredths per step, so that the sample stays small.
        const auto weight = std::max<std::int64_t>(1, number(row, 6) * 100 / steps);
        group.sizes.insert(group.sizes.end(), static_cast<std::size_t>(std::min<std::int64_t>(weight, 100000)),
                           static_cast<double>(number(row, 3)));
      }
      extrapolated += number(row, 5) != 0 ? number(row, 6) : 0;
      MessageSum& line = lines[{text(row, 1), text(row, 2), number(row, 3)}];
      line.count += number(row, 6);
      line.ns += number(row, 7);
      line.exposed_ns += number(row, 8);
    }
    const auto per_step = [steps](std::int64_t value) {
      return static_cast<double>(value) / static_cast<double>(steps);
    };
    for (const auto& [scope, group] : groups) {
      add_value(conclusions.metrics, "comm.collectives_per_step", scope, per_step(group.count), steps, "torch_hook");
      add_value(conclusions.metrics, "comm.bytes_per_step", scope, per_step(group.bytes), steps, "torch_hook");
      std::optional<Metric> size = spread_metric("comm.message_bytes", scope, group.sizes, "torch_hook");
      if (!size) continue;
      size->n = group.count;
      conclusions.metrics.add(std::move(*size));
    }
    add_value(conclusions.metrics, "comm.extrapolated_percent", "all",
              100.0 * static_cast<double>(extrapolated) / static_cast<double>(groups["all"].count), steps,
              "torch_hook");
    Series& series = conclusions.series["messages"];
    series.name = "messages";
    series.columns = {"group", "op", "bytes", "count_per_step", "total_ms", "exposed_ms"};
    for (const auto& [key, sum] : lines)
      series.rows.push_back({std::get<0>(key), std::get<1>(key), std::get<2>(key), per_step(sum.count),
                             per_step(sum.ns) * 1e-6, per_step(sum.exposed_ns) * 1e-6});
  }
};

}  // namespace

std::unique_ptr<Analyzer> make_messages() { return std::make_unique<MessagesAnalyzer>(); }

}  // namespace gradsync
