#include "analyzers/step_activity.h"

#include <algorithm>
#include <unordered_map>

#include "analyzers/kernel_phases.h"

namespace gradsync {
namespace {

// FNV-1a: stable across ranks and runs.
std::int64_t key_of(std::string_view text, std::uint64_t number) {
  std::uint64_t hash = 1469598103934665603ULL;
  const auto mix = [&hash](unsigned char byte) { hash = (hash ^ byte) * 1099511628211ULL; };
  for (const char c : text) mix(static_cast<unsigned char>(c));
  for (int shift = 0; shift < 64; shift += 8) mix(static_cast<unsigned char>(number >> shift));
  const auto key = static_cast<std::int64_t>(hash >> 1);
  return key == 0 ? 1 : key;
}

class StepObserver {
 public:
  StepObserver(const RankTimeline& rank, const StepSpan& step, const GradientPath& path)
      : rank_(rank), step_(step), path_(path) {}

  StepActivity run() {
    sort_events();
    if (result_.on_device) {
      observe_device();
    } else {
      observe_backward();
      observe_forward();
      observe_gradient_code();
      observe_waits();
      compose();
    }
    return std::move(result_);
  }

 private:
  bool on_training_lane(const Event& event) const { return !rank_.training_lane || event.lane == *rank_.training_lane; }

  void sort_events() {
    const RankTimeline::Range range = rank_.beginning_in(step_.interval());
    bool hook_sees_collectives = false;
    for (std::size_t i = range.first; i < range.last; ++i) {
      const Event& event = rank_.events[i];
      if (of_device(event.source)) {
        if (event.kind == Kind::kernel) result_.on_device = true;
        continue;
      }
      if (event.kind == Kind::range) sort_range(event);
      if (event.kind == Kind::wait) waits_.push_back(&event);
      if (event.kind == Kind::host_sync) result_.host_syncs.push_back(&event);
      if (event.kind == Kind::kernel) result_.on_device = true;
      if (!carries_gradient(rank_, event)) continue;
      by_reference_[event.reference] = &event;
      result_.collectives.push_back(&event);
      hook_sees_collectives = true;
    }
    if (hook_sees_collectives && !result_.on_device) return;
    for (std::size_t i = range.first; i < range.last; ++i) {  // the deep window sees what Python cannot
      const Event& event = rank_.events[i];
      if (!of_device(event.source) || event.kind != Kind::collective) continue;
      result_.collectives.push_back(&event);
      device_communicates_ |= event.on_stream();
    }
    // A range that the user put around the calls is no second collective.
    if (device_communicates_)
      std::erase_if(result_.collectives, [](const Event* event) { return event->source == Source::nvtx; });
  }

  void sort_range(const Event& event) {
    switch (event.phase) {
      case Phase::forward:
        forward_.push_back(&event);
        break;
      case Phase::backward:
        backward_.push_back(&event);
        break;
      case Phase::optimizer:
        optimizer_.push_back(&event);
        break;
      case Phase::data:
        data_.push_back({event.start, event.end});
        break;
      case Phase::compress:
        compress_.push_back({event.start, event.end});
        break;
      case Phase::decompress:
        decompress_.push_back({event.start, event.end});
        break;
      case Phase::none:
        break;
    }
  }

  void observe_backward() {
    for (const Event* event : backward_) {
      const Nanoseconds told = rank_.integer(*event, "compute_end_ns").value_or(0);
      const bool known = told > event->start && told <= event->end;
      const Nanoseconds compute_end = known ? told : event->end;
      backward_compute_.push_back({event->start, compute_end});
      if (result_.backward_start == 0) result_.backward_start = event->start;
      result_.compute_end = known ? compute_end : event->source == Source::nvtx ? event->end : 0;
      if (!known || !on_training_lane(*event)) continue;
      Blocked tail{{compute_end, event->end},
                   key_of("framework", static_cast<std::uint64_t>(step_.number)),
                   compute_end,
                   0,
                   false};
      if (path_.framework_syncs || path_.place == Place::hook) result_.blocked.push_back(tail);
    }
  }

  // Forward work runs up to the backward call; the loss is part of it.
  void observe_forward() {
    Nanoseconds from = step_.start;
    for (const Event* backward : backward_) {
      Nanoseconds start = from;
      for (const Interval& data : data_)
        if (data.end <= backward->start) start = std::max(start, data.end);
      for (const Event* optimizer : optimizer_)
        if (optimizer->end <= backward->start) start = std::max(start, optimizer->end);
      const auto first = std::find_if(forward_.begin(), forward_.end(), [&](const Event* event) {
        return event->start >= start && event->start < backward->start;
      });
      if (first != forward_.end())
        start = (*first)->start;
      else if (!forward_.empty() || path_.framework == "ddp")
        start = backward->start;  // this job's forward is seen, and it was not here
      forward_compute_.push_back({start, backward->start});
      from = backward->end;
    }
    if (backward_.empty())
      for (const Event* event : forward_) forward_compute_.push_back({event->start, event->end});
  }

  // The innermost optimiser ranges are the optimiser; what an outer one does around its collectives is gradient code.
  void observe_gradient_code() {
    for (const Event* outer : optimizer_) {
      const Event* inner = nullptr;
      for (const Event* other : optimizer_)
        if (other != outer && other->start >= outer->start && other->end <= outer->end) inner = other;
      const Nanoseconds last = last_communication({outer->start, outer->end});
      if (last > 0) {
        const Nanoseconds optimizer_start = inner != nullptr ? std::max(inner->start, last) : last;
        gradient_code({outer->start, optimizer_start}, last);
        optimizer_compute_.push_back({optimizer_start, outer->end});
      } else {
        optimizer_compute_.push_back({outer->start, outer->end});
      }
    }
    if (backward_.empty()) return;
    const Nanoseconds after = backward_.back()->end;
    Nanoseconds until = step_.end;
    for (const Event* optimizer : optimizer_)
      if (optimizer->start >= after) until = std::min(until, optimizer->start);
    const Nanoseconds last = last_communication({after, until});
    if (last > 0) gradient_code({after, until}, last);
  }

  // End of the last gradient communication of the training thread inside `region`; 0 = none.
  Nanoseconds last_communication(Interval region) const {
    Nanoseconds last = 0;
    for (const Event* event : result_.collectives)
      if (event->source != Source::profiler && event->start >= region.start && event->start < region.end)
        last = std::max(last, std::min(event->end, region.end));
    for (const Event* wait : waits_)
      if (last > 0 && wait->start >= region.start && wait->start < region.end && on_training_lane(*wait))
        last = std::max(last, std::min(wait->end, region.end));
    return last;
  }

  void gradient_code(Interval region, Nanoseconds last_communication) {
    if (path_.compresses() && compress_.empty() && decompress_.empty()) {
      compress_.push_back({region.start, last_communication});
      decompress_.push_back({last_communication, region.end});
    } else {
      gradient_compute_.push_back(region);
    }
  }

  void observe_waits() {
    for (const Event* wait : waits_) {
      if (!on_training_lane(*wait)) continue;
      const auto collective = by_reference_.find(wait->correlation);
      Blocked blocked{{wait->start, wait->end}, 0, wait->start, 0, false};
      if (collective != by_reference_.end()) {
        blocked.key = collective_key(*collective->second);
        blocked.arrival = collective->second->start;
        blocked.collective = collective->second;
      } else if (wait->correlation != 0) {
        continue;  // waits for a scalar or another group: not gradient synchronisation, but not compute either
      }
      result_.blocked.push_back(blocked);
    }
    for (const Event* event : result_.collectives)  // native jobs: the range is the blocking call
      if (event->source == Source::nvtx)
        result_.blocked.push_back({{event->start, event->end}, collective_key(*event), event->start, 0, false, event});
  }

  std::int64_t collective_key(const Event& event) const {
    if (event.source == Source::nvtx || event.group == NameId::none)
      return key_of(rank_.name(event), static_cast<std::uint64_t>(step_.number) << 20 | ordinal(event));
    return key_of(rank_.name(event.group), event.sequence);
  }

  std::uint64_t ordinal(const Event& event) const {
    const auto found = std::find(result_.collectives.begin(), result_.collectives.end(), &event);
    return static_cast<std::uint64_t>(found - result_.collectives.begin());
  }

  void compose() {
    std::vector<Interval> stopped;
    for (const Blocked& blocked : result_.blocked) stopped.push_back(blocked.interval);
    for (const Event* wait : waits_)
      if (on_training_lane(*wait)) stopped.push_back({wait->start, wait->end});
    const IntervalSet waiting(std::move(stopped));
    const IntervalSet compress = subtract(IntervalSet(compress_), waiting_outside_tail());
    const IntervalSet decompress = IntervalSet(decompress_);
    const IntervalSet handling = unite(compress, decompress);
    const auto useful = [&](const std::vector<Interval>& intervals) {
      return clip(subtract(subtract(IntervalSet(intervals), waiting), handling), step_.interval());
    };
    result_.forward = useful(forward_compute_);
    result_.backward = useful(backward_compute_);
    result_.optimizer = useful(optimizer_compute_);
    result_.gradient = useful(gradient_compute_);
    Activity& activity = result_.activity;
    activity[StepClass::compute] =
        unite(unite(result_.forward, result_.backward), unite(result_.optimizer, result_.gradient));
    activity[StepClass::compress] = compress;
    activity[StepClass::decompress] = decompress;
    activity[StepClass::comm] = waiting;
    activity[StepClass::data] = IntervalSet(data_);
    observe_communication();
  }

  // A wait inside compression code (or inside a hook) is communication; the backward tail is only what is left over.
  IntervalSet waiting_outside_tail() const {
    std::vector<Interval> inner;
    for (const Event* wait : waits_) inner.push_back({wait->start, wait->end});
    for (const Event* event : result_.collectives)
      if (event->source == Source::nvtx) inner.push_back({event->start, event->end});
    return IntervalSet(std::move(inner));
  }

  void observe_communication() {
    std::vector<Interval> intervals;
    for (const Event* event : result_.collectives) intervals.push_back({event->start, event->end});
    result_.communicating = clip(IntervalSet(std::move(intervals)), step_.interval());
  }

  // Device time: kernels compute, or compress where a range that compresses launched them; collectives on streams
  // communicate, or those of a backend that works on the host (Gloo); host calls explain idleness.
  void observe_device() {
    const RankTimeline::Range range = rank_.beginning_in(step_.interval());
    const KernelPhases phases(rank_, {step_.start - (step_.end - step_.start), step_.end});
    std::array<std::vector<Interval>, kStepClasses> sets;
    const auto add = [&sets](StepClass step_class, const Event& event) {
      sets[static_cast<std::size_t>(step_class)].push_back({event.start, event.end});
    };
    for (std::size_t i = range.first; i < range.last; ++i) {
      const Event& event = rank_.events[i];
      if (event.kind == Kind::kernel) {
        const Phase phase = phases.of(event);
        result_.kernels_have_phases |= phase != Phase::none;
        add(class_of_kernel(phase), event);
        add_to_phase(phase, event);
      }
      if (event.kind == Kind::collective && (event.on_stream() || (!device_communicates_ && spans_on_host(event)))) {
        add(StepClass::comm, event);
        Blocked blocked{{event.start, event.end}, 0, event.start, 0, false, &event};
        if (const SharedCollective* shared = rank_.shared_at(i)) {
          blocked.peers_ready = shared->peers_ready;
          blocked.complete = shared->complete;
        }
        result_.blocked.push_back(blocked);
      }
      if (event.kind == Kind::copy || event.kind == Kind::memset) add(StepClass::memcpy, event);
      if (event.kind == Kind::host_sync) add(StepClass::host_sync, event);
      if (event.kind == Kind::host_call) add(StepClass::launch, event);
    }
    for (std::size_t i = 0; i < kStepClasses; ++i) result_.activity.of[i] = IntervalSet(std::move(sets[i]));
    result_.communicating = clip(result_.activity[StepClass::comm], step_.interval());
    result_.forward = clip(IntervalSet(std::move(forward_compute_)), step_.interval());
    result_.backward = clip(IntervalSet(std::move(backward_compute_)), step_.interval());
    result_.optimizer = clip(IntervalSet(std::move(optimizer_compute_)), step_.interval());
  }

  static StepClass class_of_kernel(Phase phase) {
    if (phase == Phase::compress) return StepClass::compress;
    return phase == Phase::decompress ? StepClass::decompress : StepClass::compute;
  }

  void add_to_phase(Phase phase, const Event& kernel) {
    const Interval interval{kernel.start, kernel.end};
    if (phase == Phase::forward) forward_compute_.push_back(interval);
    if (phase == Phase::backward) backward_compute_.push_back(interval);
    if (phase == Phase::optimizer) optimizer_compute_.push_back(interval);
  }

  const RankTimeline& rank_;
  const StepSpan& step_;
  const GradientPath& path_;
  StepActivity result_;
  std::vector<const Event*> forward_, backward_, optimizer_, waits_;
  std::unordered_map<std::uint64_t, const Event*> by_reference_;
  std::vector<Interval> data_, compress_, decompress_;
  std::vector<Interval> forward_compute_, backward_compute_, optimizer_compute_, gradient_compute_;
  bool device_communicates_ = false;  // a stream carries collectives
};

}  // namespace

StepActivity observe(const RankTimeline& rank, const StepSpan& step, const GradientPath& path) {
  return StepObserver(rank, step, path).run();
}

}  // namespace gradsync
