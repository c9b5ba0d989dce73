// Collectives of gradient synchronisation: how many, how large, how long; what is compressed and what still
// travels dense. The framework's own all-reduces are issued in C++: in steps where none of them is among the events
// (older versions show none, and a collector on a budget stops looking) their sizes come from the framework's bucket
// list and are marked as extrapolated.
#include <algorithm>
#include <map>
#include <tuple>

#include "analyzers/analyzers.h"
#include "analyzers/rows.h"
#include "analyzers/step_activity.h"

namespace gradsync {
namespace {

constexpr std::string_view kMessages =
    "message_sums";  // rank, group, op, bytes, compressed, framework, count, ns, exposed ns
constexpr std::string_view kPaths = "gradient_paths";  // one row per rank

const std::vector<std::string> kPathColumns{
    "rank",        "compression", "place", "started",           "start_step", "last_step",      "gradient_bytes",
    "dense_bytes", "wire_bytes",  "steps", "index_all_reduces", "compressed", "where_compress", "where_sync"};

bool is_integer_type(std::string_view dtype) { return dtype.find("int") != std::string_view::npos; }
bool is_full_precision(std::string_view dtype) { return dtype.ends_with("float32") || dtype.ends_with("float64"); }

struct MessageSum {
  std::int64_t count = 0, ns = 0, exposed_ns = 0;
};

using MessageKey =
    std::tuple<std::string, std::string, std::int64_t, bool, bool>;  // group, op, bytes, compressed, framework

// Sums one rank's counted steps.
class RankMessages {
 public:
  RankMessages(const RankTimeline& rank, const GradientPath& path) : rank_(rank), path_(path) {}

  void add_step(const StepSpan& step) {
    ++steps_;
    const StepActivity seen = observe(rank_, step, path_);
    const IntervalSet compute = claim(seen.activity, step.interval())[StepClass::compute];
    bool gathers = false, sends_indices = false;
    std::int64_t reduces = 0, framework_bytes = 0;
    for (const Event* event : seen.collectives) {
      if (event->source == Source::profiler && !seen.on_device) continue;
      const Place place = place_of(rank_, step, *event);
      const bool compressed = path_.compresses() && (place == path_.place || path_.place == Place::none);
      const std::string_view dtype = rank_.text(*event, "dtype");
      const std::string_view operation = rank_.name(*event);
      if (place == Place::none && operation == "broadcast") continue;  // buffers, not gradients
      MessageSum& sum = messages_[{group_of(*event), std::string(operation), event->bytes, compressed, false}];
      ++sum.count;
      sum.ns += event->duration();
      sum.exposed_ns += event->duration() - intersect(IntervalSet({{event->start, event->end}}), compute).length();
      if (const std::string_view site = rank_.text(*event, "site"); !site.empty())
        sync_sites_[site] += event->duration();
      if (!compressed && is_full_precision(dtype) && operation == "all_reduce") {
        if (place == Place::hook) dense_bytes_ += event->bytes;
        if (place == Place::none) framework_bytes += event->bytes;
      }
      if (!compressed) continue;
      wire_bytes_ += event->bytes;
      ++compressed_;
      gathers |= operation != "all_reduce";
      sends_indices |= is_integer_type(dtype);
      if (operation == "all_reduce") ++reduces;
      if (operation == "all_reduce" && is_integer_type(dtype) && rank_.integer(*event, "elements").value_or(0) > 16)
        ++index_all_reduces_;
    }
    // A selection whose values alone are summed: every rank chose other positions, and no indices travel.
    if (path_.compression == "topk" && reduces > 0 && !gathers && !sends_indices) index_all_reduces_ += reduces;
    add_framework(step, framework_bytes);
    add_compress_sites(step);
  }

  void write(Summary& summary) const {
    Series& table = summary.table(
        kMessages, {"rank", "group", "op", "bytes", "compressed", "framework", "count", "ns", "exposed_ns"});
    for (const auto& [key, sum] : messages_) {
      const auto& [group, operation, bytes, compressed, framework] = key;
      table.rows.push_back({std::int64_t{rank_.rank}, group, operation, bytes, std::int64_t{compressed},
                            std::int64_t{framework}, sum.count, sum.ns, sum.exposed_ns});
    }
    summary.table(kPaths, kPathColumns)
        .rows.push_back({std::int64_t{rank_.rank}, path_.compression, std::string(to_string(path_.place)),
                         std::int64_t{path_.started}, path_.start_step.value_or(-1),
                         rank_.steps.empty() ? std::int64_t{-1} : rank_.steps.back().number,
                         path_.gradient_bytes.value_or(0), dense_bytes_, wire_bytes_, steps_, index_all_reduces_,
                         compressed_, worst(compress_sites_), worst(sync_sites_)});
  }

 private:
  std::string group_of(const Event& event) const {
    return event.group == NameId::none ? "default" : std::string(rank_.name(event.group));
  }

  // `seen`: bytes of the dense all-reduces outside the user's gradient code; a metric's or a norm's are few.
  void add_framework(const StepSpan& step, std::int64_t seen) {
    if (!path_.framework_syncs || !path_.gradient_bytes) return;
    if (2 * seen > *path_.gradient_bytes) {
      dense_bytes_ += seen;
      return;
    }
    if (!synchronises(step)) return;
    dense_bytes_ += *path_.gradient_bytes;
    const std::string told = rank_.fact("ddp.group");
    const std::string group = told.empty() ? "default" : told;
    const std::vector<std::int64_t> one{*path_.gradient_bytes};
    for (const std::int64_t bytes : path_.bucket_bytes.empty() ? one : path_.bucket_bytes)
      ++messages_[{group, "all_reduce", bytes, false, true}].count;
  }

  // Not when all its forward passes ran inside no_sync(), as in the first micro-batches of an accumulation.
  bool synchronises(const StepSpan& step) const {
    const RankTimeline::Range range = rank_.beginning_in(step.interval());
    bool any = false;
    for (std::size_t i = range.first; i < range.last; ++i) {
      const Event& event = rank_.events[i];
      if (event.kind != Kind::range || event.phase != Phase::forward || event.source != Source::torch_hook) continue;
      if (rank_.integer(event, "ddp_sync").value_or(1) != 0) return true;
      any = true;
    }
    return !any;
  }

  void add_compress_sites(const StepSpan& step) {
    const RankTimeline::Range range = rank_.beginning_in(step.interval());
    for (std::size_t i = range.first; i < range.last; ++i) {
      const Event& event = rank_.events[i];
      const bool in_path = event.kind == Kind::range ? event.phase == Phase::compress
                                                     : event.kind == Kind::collective && path_.place != Place::none &&
                                                           place_of(rank_, step, event) == path_.place;
      if (!in_path) continue;
      if (const std::string_view site = rank_.text(event, "site"); !site.empty())
        compress_sites_[site] += event.duration();
    }
  }

  static std::string worst(const std::map<std::string_view, Nanoseconds>& sites) {
    const auto most =
        std::max_element(sites.begin(), sites.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
    return most == sites.end() ? std::string{} : std::string(most->first);
  }

  const RankTimeline& rank_;
  const GradientPath& path_;
  std::map<MessageKey, MessageSum> messages_;
  std::map<std::string_view, Nanoseconds> compress_sites_, sync_sites_;
  std::int64_t steps_ = 0, dense_bytes_ = 0, wire_bytes_ = 0, index_all_reduces_ = 0, compressed_ = 0;
};

std::int64_t number(const std::vector<Cell>& row, std::size_t column) { return std::get<std::int64_t>(row[column]); }
const std::string& text(const std::vector<Cell>& row, std::size_t column) { return std::get<std::string>(row[column]); }

class MessagesAnalyzer final : public Analyzer {
 public:
  std::string_view name() const override { return "messages"; }

  void summarise(const RankTimeline& rank, const Inputs& inputs, Summary& summary) const override {
    const GradientPath path = find_gradient_path(rank, inputs);
    RankMessages messages(rank, path);
    for (const StepSpan& step : rank.steps)
      if (step.counted()) messages.add_step(step);
    messages.write(summary);
  }

  void conclude(const Summary& all, const Inputs&, Conclusions& conclusions) const override {
    add_path(all, conclusions);
    add_messages(all, conclusions);
  }

 private:
  static void add_path(const Summary& all, Conclusions& conclusions) {
    const Series* table = all.find(kPaths);
    if (table == nullptr || table->rows.empty()) return;
    std::int64_t gradient = 0, dense = 0, wire = 0, steps = 0, index_reduces = 0, compressed = 0;
    for (const auto& row : table->rows) {
      gradient += number(row, 6) * number(row, 9);
      dense += number(row, 7);
      wire += number(row, 8);
      steps += number(row, 9);
      index_reduces += number(row, 10);
      compressed += number(row, 11);
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
    add_value(conclusions.metrics, "compress.collectives_per_step", "all", per_step(compressed), steps, "torch_hook");
    add_value(conclusions.metrics, "compress.index_all_reduce_per_step", "all", per_step(index_reduces), steps,
              "torch_hook");
  }

  struct Group {
    std::int64_t count = 0, bytes = 0;
    std::vector<double> sizes;  // every message once, bounded
  };

  static void add_messages(const Summary& all, Conclusions& conclusions) {
    const Series* table = all.find(kMessages);
    const Series* paths = all.find(kPaths);
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
      add_sample(conclusions.metrics, "comm.message_bytes", scope, group.sizes, "torch_hook");
      Metric size = *conclusions.metrics.find("comm.message_bytes", scope);
      size.n = group.count;
      size.resolution.reset();  // sizes are a property of the job, not a noisy measurement
      conclusions.metrics.add(size);
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
