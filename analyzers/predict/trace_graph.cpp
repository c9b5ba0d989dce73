#include "analyzers/predict/trace_graph.h"

#include <algorithm>
#include <charconv>
#include <map>

#include "analyzers/fabric_cost.h"

namespace gradsync {
namespace {

constexpr Nanoseconds kNear = 20'000;  // a kernel that follows a collective this soon has waited for it
constexpr std::int64_t kFirstBucket = 1 << 20, kDefaultBucket = 25 << 20;
constexpr double kLeastFactor = 0.25, kMostFactor = 4;

struct Mark {
  Nanoseconds time = 0;
  Anchor anchor;
};

class GraphBuilder {
 public:
  GraphBuilder(const RankTimeline& rank, const StepSpan& step, const StepActivity& seen, const Activity& claimed,
               const GradientPath& path)
      : rank_(rank), step_(step), seen_(seen), claimed_(claimed), path_(path) {}

  StepGraph run() {
    add_buckets();
    add_exchanges();
    add_unseen();
    add_joins();
    std::stable_sort(marks_.begin(), marks_.end(), [](const Mark& a, const Mark& b) {
      return a.time != b.time ? a.time < b.time : order(a) < order(b);
    });
    marks_.push_back({step_.end, {AnchorKind::end, -1}});
    cut_stages();
    return std::move(graph_);
  }

 private:
  // What is over is joined before the next begins.
  static int order(const Mark& mark) {
    return mark.anchor.kind == AnchorKind::join ? 0 : mark.anchor.kind == AnchorKind::bucket ? 1 : 2;
  }

  void add_mark(Nanoseconds time, AnchorKind kind, std::int64_t index) {
    marks_.push_back({std::clamp(time, step_.start, step_.end), {kind, index}});
  }

  // A hook is called when its bucket is full.
  void add_buckets() {
    const RankTimeline::Range range = rank_.beginning_in(step_.interval());
    for (std::size_t i = range.first; i < range.last; ++i) {
      const Event& event = rank_.events[i];
      if (event.kind == Kind::collective) index_of_[&event] = i;
      if (event.kind != Kind::range || event.phase != Phase::compress || event.source != Source::torch_hook) continue;
      if (!event.has(kFlagInHook) || event.bytes <= 0) continue;
      hooks_.push_back({event.start, event.end});
      add_mark(event.start, AnchorKind::bucket, static_cast<std::int64_t>(graph_.bucket_bytes.size()));
      graph_.bucket_bytes.push_back(event.bytes);
    }
  }

  void add_exchanges() {
    std::vector<const Event*> events;
    for (const Event* event : seen_.collectives) {
      if (event->source == Source::profiler && !seen_.on_device) continue;
      if (place_of(rank_, step_, *event) == Place::none && rank_.name(*event) == "broadcast") continue;
      events.push_back(event);
    }
    std::stable_sort(events.begin(), events.end(), [](const Event* a, const Event* b) { return a->start < b->start; });
    std::map<NameId, Nanoseconds> last_end;
    for (const Event* event : events) {
      const Place place = place_of(rank_, step_, *event);
      Exchange exchange{std::string(rank_.name(*event)), std::string(rank_.name(event->group)),
                        std::string(rank_.text(*event, "dtype")), event->bytes};
      exchange.compressed = path_.compresses() && (place == path_.place || place == Place::none);
      const auto hook = std::find_if(hooks_.rbegin(), hooks_.rend(),
                                     [&](const Interval& call) { return call.start <= event->start; });
      if (hook != hooks_.rend()) exchange.bucket = hooks_.rend() - hook - 1;
      if (const SharedCollective* shared = rank_.shared_at(index_of_[event]))
        exchange.wait_ns =
            static_cast<double>(std::clamp<Nanoseconds>(shared->peers_ready - event->start, 0, event->duration()));
      Nanoseconds& free = last_end[event->group];
      const Nanoseconds begin = std::max(event->start + static_cast<Nanoseconds>(exchange.wait_ns), free);
      exchange.transfer_ns = static_cast<double>(std::max<Nanoseconds>(0, event->end - begin));
      free = std::max(free, event->end);
      const auto index = static_cast<std::int64_t>(graph_.exchanges.size());
      ordinal_[event] = index;
      ends_.push_back(std::max(event->end, ends_.empty() ? 0 : ends_.back()));
      add_mark(event->start, AnchorKind::issue, index);
      issues_.push_back(event->start);
      // Issued while the main lane was blocked: by a callback, behind what had ended.
      const bool from_callback = index > 0 && covered(claimed_[StepClass::comm], {event->start - 1, event->start}) > 0;
      if (from_callback && ends_[static_cast<std::size_t>(index - 1)] <= event->start)
        add_mark(event->start, AnchorKind::join, index - 1);
      graph_.exchanges.push_back(std::move(exchange));
    }
  }

  // Gradients become ready in proportion to their bytes.
  void add_unseen() {
    const bool unseen = path_.framework_syncs && graph_.exchanges.empty() && !seen_.on_device;
    if (!unseen || seen_.backward_start == 0 || seen_.compute_end <= seen_.backward_start) return;
    const std::vector<std::int64_t> buckets = framework_buckets(rank_, path_);
    double all = 0, before = 0;
    for (const std::int64_t bytes : buckets) all += static_cast<double>(bytes);
    for (const std::int64_t bytes : buckets) {
      before += static_cast<double>(bytes);
      const auto length = static_cast<double>(seen_.compute_end - seen_.backward_start);
      const Nanoseconds ready = seen_.backward_start + static_cast<Nanoseconds>(length * before / all);
      const auto index = static_cast<std::int64_t>(graph_.exchanges.size());
      add_mark(ready, AnchorKind::bucket, index);
      add_mark(ready, AnchorKind::issue, index);
      issues_.push_back(ready);
      ends_.push_back(0);  // unknown
      graph_.bucket_bytes.push_back(bytes);
      graph_.exchanges.push_back({"all_reduce", "framework", "float32", bytes, index, false, false});
    }
  }

  void add_joins() {
    if (graph_.exchanges.empty()) return;
    if (seen_.on_device) return add_device_joins();
    for (const Blocked& blocked : seen_.blocked) {
      const auto found = ordinal_.find(blocked.collective);
      const auto issued = std::upper_bound(issues_.begin(), issues_.end(), blocked.interval.end) - issues_.begin();
      if (issued == 0) continue;
      add_mark(blocked.interval.end, AnchorKind::join, found == ordinal_.end() ? issued - 1 : found->second);
    }
  }

  // Where communication alone ends with a collective, something has waited for it; after the last one everything has.
  void add_device_joins() {
    Nanoseconds last = 0;
    for (const auto& [event, index] : ordinal_) last = std::max(last, event->end);
    for (const auto& [event, index] : ordinal_) {
      const bool alone_until_end = covered(claimed_[StepClass::comm], {event->end - kNear, event->end}) > kNear / 2;
      if (event->end != last && alone_until_end && event->end < step_.end)
        add_mark(event->end, AnchorKind::join, index);
    }
    add_mark(last, AnchorKind::join, static_cast<std::int64_t>(graph_.exchanges.size()) - 1);
  }

  void cut_stages() {
    Nanoseconds from = step_.start;
    double left_over = 0;  // blocked behind the end of what was waited for
    for (const Mark& mark : marks_) {
      Stage stage{{}, mark.anchor};
      for (std::size_t i = 0; i < kStepClasses; ++i)
        stage.ns[i] = static_cast<double>(covered(claimed_.of[i], {from, mark.time}));
      double& comm = stage.ns[static_cast<std::size_t>(StepClass::comm)];
      const double carried = std::exchange(left_over, 0);
      if (mark.anchor.kind == AnchorKind::join) {
        const Nanoseconds end = ends_[static_cast<std::size_t>(mark.anchor.index)];
        if (end > from) {
          left_over = static_cast<double>(covered(claimed_[StepClass::comm], {std::min(end, mark.time), mark.time}));
          comm = 0;
        }
      }
      comm += carried;
      graph_.stages.push_back(stage);
      from = std::max(from, mark.time);
    }
  }

  const RankTimeline& rank_;
  const StepSpan& step_;
  const StepActivity& seen_;
  const Activity& claimed_;
  const GradientPath& path_;
  StepGraph graph_;
  std::vector<Mark> marks_;
  std::vector<Interval> hooks_;
  std::vector<Nanoseconds> issues_, ends_;
  std::map<const Event*, std::size_t> index_of_;
  std::map<const Event*, std::int64_t> ordinal_;
};

}  // namespace

StepGraph graph_of(const RankTimeline& rank, const StepSpan& step, const StepActivity& seen, const Activity& claimed,
                   const GradientPath& path) {
  return GraphBuilder(rank, step, seen, claimed, path).run();
}

std::vector<std::int64_t> framework_buckets(const RankTimeline& rank, const GradientPath& path) {
  if (!path.bucket_bytes.empty()) return path.bucket_bytes;
  std::int64_t left = path.gradient_bytes.value_or(0), cap = kDefaultBucket;
  const std::string told = rank.fact("ddp.bucket_cap_mb");
  double mib = 0;
  if (std::from_chars(told.data(), told.data() + told.size(), mib).ec == std::errc{} && mib > 0)
    cap = static_cast<std::int64_t>(mib * (1 << 20));
  std::vector<std::int64_t> buckets;
  while (left > 0) {
    buckets.push_back(std::min(left, buckets.empty() ? std::min(kFirstBucket, cap) : cap));
    left -= buckets.back();
  }
  return buckets;
}

double price_unseen(const FabricFit& fit, std::vector<StepGraph>& graphs) {
  std::vector<StepGraph> priced = graphs;
  for (StepGraph& graph : priced) {
    for (Exchange& exchange : graph.exchanges) {
      if (exchange.seen) continue;
      const auto us = cost_us(fit, exchange.operation, static_cast<double>(exchange.bytes));
      if (!us) return 0;
      exchange.transfer_ns = 1e3 * *us;
    }
    // What the joins explain from now on.
    for (Stage& stage : graph.stages)
      if (stage.anchor.kind == AnchorKind::join) stage.ns[static_cast<std::size_t>(StepClass::comm)] = 0;
  }
  const auto scaled = [&](double factor) {
    std::vector<StepGraph> copies = priced;
    for (StepGraph& copy : copies)
      for (Exchange& exchange : copy.exchanges)
        if (!exchange.seen) exchange.transfer_ns *= factor;
    return copies;
  };
  const auto length = [](const std::vector<StepGraph>& steps) {
    double ns = 0;
    for (const StepGraph& step : steps) ns += replay(step).step_ns;
    return ns;
  };
  const double observed = length(graphs);
  constexpr double kRounding = 1.001;
  const bool too_long = length(scaled(kLeastFactor)) > observed * kRounding;
  if (too_long || length(scaled(kMostFactor)) < observed / kRounding) return 0;
  if (length(scaled(1)) <= observed && length(scaled(kLeastFactor)) >= observed / kRounding) {
    graphs = scaled(1);  // all of it is hidden: any factor would do
    return 1;
  }
  double low = kLeastFactor, high = kMostFactor;
  for (int i = 0; i < 40; ++i) {
    const double middle = (low + high) / 2;
    (length(scaled(middle)) < observed ? low : high) = middle;
  }
  graphs = scaled(high);
  return high;
}

}  // namespace gradsync
