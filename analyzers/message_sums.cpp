#include "analyzers/message_sums.h"

#include <algorithm>

#include "analyzers/fabric_curves.h"
#include "analyzers/rows.h"

namespace gradsync {
namespace {

const std::vector<std::string> kPathColumns{
    "rank",           "compression", "place",           "started", "start_step",        "last_step",
    "gradient_bytes", "dense_bytes", "wire_bytes",      "steps",   "index_all_reduces", "compressed",
    "where_compress", "where_sync",  "wide_index_bytes"};

constexpr std::int64_t kMostScalars = 16;  // more integers than these are indices, no sizes or flags

bool is_integer_type(std::string_view dtype) { return dtype.find("int") != std::string_view::npos; }
bool is_full_precision(std::string_view dtype) { return dtype.ends_with("float32") || dtype.ends_with("float64"); }

std::string worst(const std::map<std::string_view, Nanoseconds>& sites) {
  const auto most =
      std::max_element(sites.begin(), sites.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  return most == sites.end() ? std::string{} : std::string(most->first);
}

}  // namespace

bool exchange_unseen(const Summary& all, const Facts& facts) {
  const auto framework = facts.find("framework");
  if (!(fact_number(facts, "world_size") > 1) || (framework != facts.end() && framework->second == "ddp")) return false;
  if (const Series* messages = all.find(kMessageTable); messages != nullptr && !messages->rows.empty()) return false;
  std::vector<StepRow> rows = counted_steps(all);
  const bool any = !rows.empty();
  for (const StepRow& row : deep_steps(all)) rows.push_back(row);
  return any && std::none_of(rows.begin(), rows.end(), [](const StepRow& row) {
           return row[StepColumn::communicating] > 0 || row[StepColumn::comm] > 0;
         });
}

void MessageSums::add(const StepSpan& step, const StepActivity& seen, const IntervalSet& compute) {
  ++steps_;
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
    sum.exposed_ns += event->duration() - covered(compute, {event->start, event->end});
    if (const std::string_view site = rank_.text(*event, "site"); !site.empty()) sync_sites_[site] += event->duration();
    if (!compressed && is_full_precision(dtype) && operation == "all_reduce") {
      if (place == Place::hook) dense_bytes_ += event->bytes;
      if (place == Place::none) framework_bytes += event->bytes;
    }
    if (!compressed) continue;
    wire_bytes_ += event->bytes;
    ++compressed_;
    gathers |= operation != "all_reduce";
    sends_indices |= is_integer_type(dtype);
    const bool list = rank_.integer(*event, "elements").value_or(0) > kMostScalars;
    if (dtype.ends_with("int64") && list) wide_index_bytes_ += event->bytes;
    if (operation == "all_reduce") ++reduces;
    if (operation == "all_reduce" && is_integer_type(dtype) && list) ++index_all_reduces_;
  }
  // A selection whose values alone are summed: every rank chose other positions, and no indices travel.
  if (path_.compression == "topk" && reduces > 0 && !gathers && !sends_indices) index_all_reduces_ += reduces;
  add_framework(step, framework_bytes);
  add_compress_sites(step);
}

void MessageSums::write(Summary& summary) const {
  Series& table = summary.table(
      kMessageTable, {"rank", "group", "op", "bytes", "compressed", "framework", "count", "ns", "exposed_ns"});
  for (const auto& [key, sum] : messages_) {
    const auto& [group, operation, bytes, compressed, framework] = key;
    table.rows.push_back({std::int64_t{rank_.rank}, group, operation, bytes, std::int64_t{compressed},
                          std::int64_t{framework}, sum.count, sum.ns, sum.exposed_ns});
  }
  summary.table(kPathTable, kPathColumns)
      .rows.push_back({std::int64_t{rank_.rank}, path_.compression, std::string(to_string(path_.place)),
                       std::int64_t{path_.started}, path_.start_step.value_or(-1),
                       rank_.steps.empty() ? std::int64_t{-1} : rank_.steps.back().number,
                       path_.gradient_bytes.value_or(0), dense_bytes_, wire_bytes_, steps_, index_all_reduces_,
                       compressed_, worst(compress_sites_), worst(sync_sites_), wide_index_bytes_});
}

std::string MessageSums::group_of(const Event& event) const {
  return event.group == NameId::none ? "default" : std::string(rank_.name(event.group));
}

// `seen`: bytes of the dense all-reduces outside the user's gradient code; a metric's or a norm's are few.
void MessageSums::add_framework(const StepSpan& step, std::int64_t seen) {
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
bool MessageSums::synchronises(const StepSpan& step) const {
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

void MessageSums::add_compress_sites(const StepSpan& step) {
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

}  // namespace gradsync
