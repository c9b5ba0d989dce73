#include "analyzers/gradient_path.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <regex>

#include "src/base/statistics.h"

namespace gradsync {
namespace {

std::optional<std::int64_t> whole_number(const std::string& text) {
  std::int64_t number = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), number);
  if (text.empty() || parsed.ec != std::errc{}) return std::nullopt;
  return number;
}

std::vector<std::int64_t> number_list(const std::string& text) {
  std::vector<std::int64_t> numbers;
  const char* next = text.data();
  const char* const end = text.data() + text.size();
  while (next < end) {
    std::int64_t number = 0;
    const auto parsed = std::from_chars(next, end, number);
    if (parsed.ec != std::errc{}) {
      ++next;
      continue;
    }
    numbers.push_back(number);
    next = parsed.ptr;
  }
  return numbers;
}

bool is_index_type(std::string_view dtype) { return dtype.ends_with("int64") || dtype.ends_with("int32"); }
bool is_code_type(std::string_view dtype) {
  return dtype.ends_with("int8") || dtype.ends_with("uint8") || dtype.ends_with("bool");
}

// What the collectives of one place say about compression, summed over a few steps.
struct Wire {
  std::int64_t collectives = 0, bytes = 0, index_elements = 0, code_elements = 0, half = 0, bfloat = 0;
};

std::string compression_from_wire(const Wire& wire, std::int64_t steps, std::optional<std::int64_t> gradient_bytes,
                                  const std::string& operator_evidence) {
  if (wire.collectives == 0) return "none";
  if (operator_evidence == "topk" || wire.index_elements > 16 * steps) return "topk";
  if (wire.code_elements > 16 * steps) return "quantized";
  if (wire.half > 0) return "fp16";
  if (wire.bfloat > 0) return "bf16";
  if (!gradient_bytes) return "";
  return static_cast<double>(wire.bytes) < 0.6 * static_cast<double>(*gradient_bytes * steps) ? "custom" : "none";
}

std::string compression_of_hook(const std::string& kind) {
  static const std::array<std::pair<std::string_view, std::string_view>, 7> known{{{"fp16_compress", "fp16"},
                                                                                   {"bf16_compress", "bf16"},
                                                                                   {"powersgd", "powersgd"},
                                                                                   {"batched_powersgd", "powersgd"},
                                                                                   {"quantization", "quantized"},
                                                                                   {"allreduce", "none"},
                                                                                   {"noop", "none"}}};
  for (const auto& [name, compression] : known)
    if (kind == name) return std::string(compression);
  if (kind.starts_with("builtin:")) return kind.find("FP16") != std::string::npos ? "fp16" : "none";
  return "";
}

bool inside(const Event& inner, const Event& outer) { return inner.start >= outer.start && inner.start < outer.end; }

// Selection operators of the deep window that run where gradients are handled name the compression.
std::string operator_evidence(const RankTimeline& rank) {
  static const std::regex selection("^aten::(topk|sort|kthvalue)$");
  std::map<NameId, bool> selects;
  std::vector<const Event*> backward, optimizer, hooks;
  for (const Event& event : rank.events) {
    if (event.kind != Kind::range || event.source == Source::profiler) continue;
    if (event.phase == Phase::backward) backward.push_back(&event);
    if (event.phase == Phase::optimizer) optimizer.push_back(&event);
    if (event.phase == Phase::compress) hooks.push_back(&event);
  }
  const auto within = [](const std::vector<const Event*>& ranges, const Event& event) {
    return std::any_of(ranges.begin(), ranges.end(), [&](const Event* range) { return inside(event, *range); });
  };
  for (const Event& event : rank.events) {
    if (event.source != Source::profiler || event.kind != Kind::range) continue;
    const auto [slot, inserted] = selects.try_emplace(event.name);
    if (inserted) {
      const std::string_view name = rank.name(event);
      slot->second = std::regex_match(name.begin(), name.end(), selection);
    }
    if (!slot->second) continue;
    if (within(hooks, event) || within(optimizer, event)) return "topk";
    // After backward and before the next optimiser step.
    const auto next_optimizer =
        std::find_if(optimizer.begin(), optimizer.end(), [&](const Event* o) { return o->start >= event.start; });
    const auto last_backward =
        std::find_if(backward.rbegin(), backward.rend(), [&](const Event* b) { return b->end <= event.start; });
    if (next_optimizer == optimizer.end() || last_backward == backward.rend()) continue;
    const bool forward_between = std::any_of(rank.events.begin(), rank.events.end(), [&](const Event& f) {
      return f.phase == Phase::forward && f.start >= (*last_backward)->end && f.start < event.start;
    });
    const bool optimizer_between = std::any_of(optimizer.begin(), optimizer.end(), [&](const Event* o) {
      return o->start >= (*last_backward)->end && o->start < event.start;
    });
    if (!forward_between && !optimizer_between) return "topk";
  }
  return "";
}

// The deep window sees the framework's own all-reduces: when it ran and saw none, there are none.
bool window_contradicts(const RankTimeline& rank) {
  bool watched = false;
  for (const StepSpan& step : rank.steps) {
    if (!step.deep) continue;
    const RankTimeline::Range range = rank.beginning_in(step.interval());
    for (std::size_t i = range.first; i < range.last; ++i) {
      const Event& event = rank.events[i];
      if (!of_device(event.source)) continue;
      watched = true;
      if (event.kind == Kind::collective && rank.name(event) == "all_reduce") return false;
    }
  }
  return watched;
}

bool framework_reduces(const RankTimeline& rank) {
  if (rank.fact("framework") != "ddp" || !rank.fact("hook.name").empty()) return false;
  const std::string kind = rank.fact("hook.kind");
  if (!kind.empty() && kind != "none") return false;
  std::int64_t synced = 0, unsynced = 0;
  for (const Event& event : rank.events)
    if (event.kind == Kind::range && event.phase == Phase::forward && event.source == Source::torch_hook)
      ++(rank.integer(event, "ddp_sync").value_or(1) != 0 ? synced : unsynced);
  return (synced > 0 || unsynced == 0) && !window_contradicts(rank);
}

}  // namespace

const char* to_string(Place place) {
  switch (place) {
    case Place::none:
      return "none";
    case Place::hook:
      return "hook";
    case Place::after_backward:
      return "after_backward";
    case Place::in_step:
      return "in_step";
  }
  return "none";
}

bool carries_gradient(const RankTimeline& rank, const Event& event) {
  if (event.kind != Kind::collective) return false;
  const std::string_view operation = rank.name(event);
  if (operation == "barrier") return false;
  const bool gathers = operation != "all_reduce" && operation != "reduce" && operation != "broadcast";
  if (gathers || of_device(event.source) || event.source == Source::nvtx) return true;
  const auto elements = rank.integer(event, "elements");
  return elements ? *elements > 1 : event.bytes > 8;
}

Place place_of(const RankTimeline& rank, const StepSpan& step, const Event& event) {
  if (event.has(kFlagInHook)) return Place::hook;
  if (!rank.training_lane) return Place::none;  // nobody said what is backward, and what the optimiser
  const RankTimeline::Range range = rank.beginning_in(step.interval());
  bool after_backward = false;
  for (std::size_t i = range.first; i < range.last; ++i) {
    const Event& around = rank.events[i];
    if (around.start > event.start) break;
    if (around.kind != Kind::range || around.source == Source::profiler) continue;
    if (around.phase == Phase::optimizer && inside(event, around)) return Place::in_step;
    if (around.phase == Phase::backward) after_backward = event.start >= around.end;
    if (around.phase == Phase::forward || around.phase == Phase::optimizer) after_backward = false;
  }
  return after_backward ? Place::after_backward : Place::none;
}

GradientPath find_gradient_path(const RankTimeline& rank, const Inputs&) {
  GradientPath path;
  path.framework = rank.fact("framework");
  path.framework_syncs = framework_reduces(rank);
  path.bucket_bytes = number_list(rank.fact("ddp.bucket_bytes"));
  path.gradient_bytes = whole_number(rank.fact("ddp.gradient_bytes"));
  if (!path.gradient_bytes) path.gradient_bytes = whole_number(rank.fact("optimizer.gradient_bytes"));

  std::map<Place, Wire> wires;
  std::int64_t steps = 0;
  for (const StepSpan& step : rank.steps) {
    if (step.warm_up || step.variant != 0) continue;
    ++steps;
    const RankTimeline::Range range = rank.beginning_in(step.interval());
    for (std::size_t i = range.first; i < range.last; ++i) {
      const Event& event = rank.events[i];
      if (event.source == Source::profiler || !carries_gradient(rank, event)) continue;
      Wire& wire = wires[place_of(rank, step, event)];
      const std::string_view dtype = rank.text(event, "dtype");
      const std::int64_t elements = rank.integer(event, "elements").value_or(0);
      ++wire.collectives;
      wire.bytes += event.bytes;
      wire.index_elements += is_index_type(dtype) ? elements : 0;
      wire.code_elements += is_code_type(dtype) ? elements : 0;
      wire.half += dtype.ends_with("float16") && !dtype.ends_with("bfloat16");
      wire.bfloat += dtype.ends_with("bfloat16");
    }
    if (steps == 200) break;  // the path does not change its nature later without a re-armed window saying so
  }

  const std::string evidence = operator_evidence(rank);
  const std::string hook = rank.fact("hook.kind");
  for (const Place place : {Place::hook, Place::in_step, Place::after_backward})
    if (path.place == Place::none && wires.contains(place)) path.place = place;
  if (!hook.empty() && hook != "none") path.place = Place::hook;
  const bool ranges_say_so = std::any_of(rank.events.begin(), rank.events.end(), [](const Event& event) {
    return event.source == Source::nvtx && event.phase == Phase::compress;
  });
  if (ranges_say_so) {
    if (path.place == Place::none) path.place = Place::after_backward;
    path.compression = "custom";
    return path;
  }
  if (path.place == Place::none) return path;

  path.compression = path.place == Place::hook ? compression_of_hook(hook) : "";
  if (path.compression.empty() && steps > 0)
    path.compression = compression_from_wire(wires[path.place], steps, path.gradient_bytes, evidence);
  path.start_step = whole_number(rank.fact("hook.start_step"));
  if (path.start_step && !rank.steps.empty()) path.started = rank.steps.back().number > *path.start_step;
  return path;
}

}  // namespace gradsync
