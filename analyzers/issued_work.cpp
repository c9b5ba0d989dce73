#include "analyzers/issued_work.h"

#include <algorithm>
#include <string_view>
#include <unordered_map>

namespace gradsync {
namespace {

constexpr std::string_view kNode = "autograd::engine::evaluate_function: ";
constexpr std::string_view kAsked = "nccl:";
constexpr std::string_view kAccumulate = "torch::autograd::AccumulateGrad";

// What a range of the host says about the work inside it.
enum class Mark : std::uint8_t {
  none,
  node,        // of backward
  accumulate,  // the node of a parameter: hooks run in it
  adding,      // its own addition to the gradient
  hook,
  optimizer,
  forward,
  boundary,  // step, data
  reducer,   // the framework's own flattening
};

Mark mark_of_name(std::string_view name) {
  if (name.starts_with(kNode)) return name.substr(kNode.size()) == kAccumulate ? Mark::accumulate : Mark::node;
  if (name == kAccumulate) return Mark::adding;
  if (name.starts_with("Optimizer.step#")) return Mark::optimizer;
  if (name.starts_with("torch.distributed.ddp.reducer::")) return Mark::reducer;
  return Mark::none;
}

bool is_host_work(const Event& event) {
  return !event.on_stream() && (event.kind == Kind::range || event.kind == Kind::host_call ||
                                event.kind == Kind::host_sync || event.kind == Kind::collective);
}

class Marks {
 public:
  Marks(const RankTimeline& rank, NameKinds& kinds) : rank_(rank), kinds_(kinds) {}

  Mark of(const Event& event) {
    if (event.kind == Kind::step) return Mark::boundary;
    if (event.kind != Kind::range) return Mark::none;
    if (event.phase == Phase::compress || event.phase == Phase::decompress) return Mark::hook;
    if (event.phase == Phase::optimizer) return Mark::optimizer;
    if (event.phase == Phase::forward) return Mark::forward;
    if (event.phase == Phase::data) return Mark::boundary;
    const auto index = static_cast<std::size_t>(event.name);
    if (index >= by_name_.size()) by_name_.resize(index + 1);
    auto& slot = by_name_[index];
    if (!slot) {
      slot = mark_of_name(rank_.name(event));
      const std::string_view meaning = kinds_.of(event.name).meaning;
      if (*slot == Mark::none && meaning == "forward") slot = Mark::forward;
      if (*slot == Mark::none && (meaning == "data" || meaning == "step")) slot = Mark::boundary;
    }
    return *slot;
  }

 private:
  const RankTimeline& rank_;
  NameKinds& kinds_;
  std::vector<std::optional<Mark>> by_name_;
};

// From the end of backward to what comes next, where both are known.
std::vector<Interval> tails(const RankTimeline& rank, Marks& marks) {
  std::vector<Interval> found;
  Nanoseconds backward_end = 0;
  for (const Event& event : rank.events) {
    if (event.on_stream() || (event.kind != Kind::range && event.kind != Kind::step)) continue;
    const Mark mark = marks.of(event);
    if (mark == Mark::node || mark == Mark::accumulate || event.phase == Phase::backward) {
      backward_end = std::max(backward_end, event.end);
    } else if ((mark == Mark::optimizer || mark == Mark::forward || mark == Mark::boundary) && backward_end != 0) {
      if (event.start > backward_end) found.push_back({backward_end, event.start});
      backward_end = 0;
    }
  }
  return found;
}

const NameKind kNothing;

struct Open {
  Nanoseconds end = 0;
  Doing doing = Doing::unknown;
  const NameKind* kind = &kNothing;  // of the innermost operator that has one
  bool counted = false;              // inside an operator that is in the list itself (no device)
  NameId asked = NameId::none;
  bool calling = false;  // inside a call of a collective
};

// What the phases of a step stand for: where no operators are seen, a thread without a range of its own (the engine's
// for backward) works for the phase that is going on.
class PhasesAround {
 public:
  explicit PhasesAround(const RankTimeline& rank) {
    for (const Event& event : rank.events) {
      if (event.kind != Kind::range || event.on_stream() || of_device(event.source)) continue;
      if (event.phase == Phase::forward || event.phase == Phase::backward)
        phases_.push_back({{event.start, event.end}, Doing::model});
      if (event.phase == Phase::optimizer) phases_.push_back({{event.start, event.end}, Doing::stepping});
    }
  }

  Doing at(Nanoseconds time) const {
    const auto next = std::upper_bound(phases_.begin(), phases_.end(), time,
                                       [](Nanoseconds t, const auto& phase) { return t < phase.first.start; });
    const bool inside = next != phases_.begin() && time < std::prev(next)->first.end;
    return inside ? std::prev(next)->second : Doing::unknown;
  }

 private:
  std::vector<std::pair<Interval, Doing>> phases_;  // by start
};

class Sweep {
 public:
  // `calls`: how many calls with a correlation there are.
  Sweep(const RankTimeline& rank, NameKinds& kinds, IssuedWork& work, std::size_t calls)
      : rank_(rank), kinds_(kinds), marks_(rank, kinds), tails_(tails(rank, marks_)), phases_(rank), work_(work) {
    if (work.on_device) calls_.reserve(calls);
  }

  void run() {
    for (const Event& event : rank_.events)
      if (is_host_work(event)) host(event);
    if (!work_.on_device) return;
    const auto before = [](const Call& a, const Call& b) { return a.correlation < b.correlation; };
    if (!std::is_sorted(calls_.begin(), calls_.end(), before)) std::stable_sort(calls_.begin(), calls_.end(), before);
    for (const Event& event : rank_.events) {
      const bool to_host =
          event.kind == Kind::copy && event.bytes > kScalarBytes && kinds_.of(event.name).kind == WorkKind::host_pack;
      if (event.on_stream() && (event.kind == Kind::kernel || event.kind == Kind::collective || to_host)) device(event);
    }
  }

 private:
  static constexpr std::int64_t kScalarBytes = 64;
  // In whole microseconds the addition may begin when the range around it ends.
  static constexpr Nanoseconds kWholeMicrosecond = 1000;

  struct Call {
    std::uint64_t correlation = 0;
    Nanoseconds start = 0;
    const NameKind* around = &kNothing;
    LaneId thread{};
    NameId asked = NameId::none;
    Doing doing = Doing::unknown;
  };

  void host(const Event& event) {
    std::vector<Open>& open = open_[static_cast<std::uint32_t>(event.lane)];
    while (!open.empty() && open.back().end <= event.start) open.pop_back();
    const Open around = open.empty() ? Open{} : open.back();
    if (event.kind == Kind::range) return open_range(event, around, open);
    if (event.kind == Kind::collective) {
      if (!work_.on_device && event.source == Source::profiler) collective_on_host(event, around);
    } else if (work_.on_device && event.correlation != 0) {
      Doing doing = doing_at(event.start, around.doing);
      if (doing == Doing::unknown && event.source == Source::cupti) doing = phases_.at(event.start);
      calls_.push_back({event.correlation, event.start, around.kind, event.lane, around.asked, doing});
    }
  }

  void open_range(const Event& event, const Open& around, std::vector<Open>& open) {
    const Mark mark = marks_.of(event);
    Open inner = around;
    inner.end = event.end + (mark == Mark::adding ? kWholeMicrosecond : 0);
    inner.doing = inside(mark, around.doing);
    const NameKind& kind = kinds_.of(event.name);
    if (kind.kind != WorkKind::none && around.kind->evidence != Evidence::codec) inner.kind = &kind;
    if (!work_.on_device && kind.kind != WorkKind::none && !around.counted) {
      add(event, event.start, event.lane, doing_at(event.start, inner.doing), kind);
      inner.counted = true;
    }
    if (rank_.name(event).starts_with(kAsked)) inner.asked = event.name;
    if (!work_.on_device && kind.meaning == "comm" && !around.calling) {
      requests_.push_back({0, event.start, &kNothing, event.lane, inner.asked, doing_at(event.start, inner.doing)});
      inner.calling = true;
    }
    open.push_back(inner);
  }

  // It runs on a thread of the backend's, which knows nothing of who asked for it: the first request not yet served.
  void collective_on_host(const Event& event, const Open& around) {
    if (served_ < requests_.size() && requests_[served_].start <= event.start) {
      const Call& request = requests_[served_++];
      add(event, request.start, request.thread, request.doing, kNothing);
    } else {
      add(event, event.start, event.lane, doing_at(event.start, around.doing), kNothing);
    }
  }

  static Doing inside(Mark mark, Doing around) {
    switch (mark) {
      case Mark::node:
      case Mark::adding:
      case Mark::reducer:
      case Mark::forward:
        return Doing::model;
      case Mark::accumulate:
      case Mark::hook:
        return Doing::gradient;
      case Mark::optimizer:
        return Doing::stepping;
      case Mark::none:
      case Mark::boundary:
        break;
    }
    return around;
  }

  Doing doing_at(Nanoseconds time, Doing around) const {
    if (around != Doing::unknown) return around;
    const auto next = std::upper_bound(tails_.begin(), tails_.end(), time,
                                       [](Nanoseconds t, const Interval& tail) { return t < tail.start; });
    return next != tails_.begin() && time < std::prev(next)->end ? Doing::gradient : Doing::unknown;
  }

  // Launches and kernels come in about the same order: the next call is mostly the one that was asked for.
  const Call* call_of(const Event& event) {
    if (event.correlation == 0) return nullptr;
    const auto before = [](const Call& call, std::uint64_t correlation) { return call.correlation < correlation; };
    const auto hint = calls_.begin() + static_cast<std::ptrdiff_t>(next_call_);
    auto found = hint != calls_.end() && hint->correlation == event.correlation
                     ? hint
                     : std::lower_bound(calls_.begin(), calls_.end(), event.correlation, before);
    if (found == calls_.end() || found->correlation != event.correlation) return nullptr;
    while (std::next(found) != calls_.end() && std::next(found)->correlation == event.correlation) ++found;
    next_call_ = static_cast<std::size_t>(found - calls_.begin()) + 1;
    return &*found;
  }

  void device(const Event& event) {
    const Call* call = call_of(event);
    const NameKind* kind = &kinds_.of(event.name);
    if (call == nullptr) {
      add(event, event.start, std::nullopt, event.has(kFlagInHook) ? Doing::gradient : Doing::unknown, *kind);
      return;
    }
    const NameKind& around = *call->around;
    const bool codec = around.kind != WorkKind::none && around.evidence == Evidence::codec;
    if (codec || kind->kind == WorkKind::none)
      kind = &kinds_.with_wire(around.kind != WorkKind::none ? around : *kind,
                               kind->wire.empty() ? around.wire : kind->wire);
    add(event, call->start, call->thread, call->doing, *kind);
    work_.list.back().asked = call->asked;
  }

  void add(const Event& event, Nanoseconds issued, std::optional<LaneId> thread, Doing doing, const NameKind& kind) {
    const std::optional<std::size_t> step = rank_.step_at(issued);
    work_.list.push_back(
        {&event, issued, &kind, thread, step ? static_cast<std::int32_t>(*step) : -1, NameId::none, doing});
  }

  const RankTimeline& rank_;
  NameKinds& kinds_;
  Marks marks_;
  std::vector<Interval> tails_;
  PhasesAround phases_;
  IssuedWork& work_;
  std::unordered_map<std::uint32_t, std::vector<Open>> open_;
  std::vector<Call> calls_;  // by correlation, then in the order of time
  std::size_t next_call_ = 0;
  std::vector<Call> requests_;  // for collectives on the host
  std::size_t served_ = 0;
};

}  // namespace

IssuedWork issued_work(const RankTimeline& rank, NameKinds& kinds) {
  IssuedWork work;
  bool collectives = false;
  std::size_t on_streams = 0, calls = 0;
  for (const Event& event : rank.events) {
    on_streams += event.on_stream();
    calls += event.correlation != 0 && (event.kind == Kind::host_call || event.kind == Kind::host_sync);
    if (!of_device(event.source)) continue;
    work.on_device |= event.on_stream() && (event.kind == Kind::kernel || event.kind == Kind::collective);
    collectives |= event.kind == Kind::collective;
  }
  if (!collectives) return work;
  work.list.reserve(on_streams);
  Sweep(rank, kinds, work, calls).run();
  const auto before = [](const Work& a, const Work& b) { return a.issued < b.issued; };
  if (!std::is_sorted(work.list.begin(), work.list.end(), before))
    std::stable_sort(work.list.begin(), work.list.end(), before);
  return work;
}

}  // namespace gradsync
