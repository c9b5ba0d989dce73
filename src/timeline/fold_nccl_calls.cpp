#include "src/timeline/fold_nccl_calls.h"

#include <algorithm>
#include <map>

namespace gradsync {
namespace {

bool is_call(const Event& event) {
  return event.kind == Kind::collective && !event.on_stream() &&
         (event.source == Source::nccl_nvtx || event.source == Source::nccl_wrapper ||
          event.source == Source::nccl_plugin);
}

class Folding {
 public:
  explicit Folding(RankTimeline& rank) : rank_(rank) {}

  void run() {
    for (std::size_t i = 0; i < rank_.events.size(); ++i) {
      const Event& event = rank_.events[i];
      if (event.kind == Kind::collective && event.source == Source::torch_hook) open_[event.lane] = i;
      if (!is_call(event)) continue;
      const auto around = open_.find(event.lane);
      if (around == open_.end() || event.start > rank_.events[around->second].end) continue;
      fold(event, rank_.events[around->second]);
    }
    if (!folded_.empty()) remove();
  }

 private:
  void fold(const Event& call, Event& hook) {
    folded_[call.reference] = hook.reference;
    if (hook.bytes == 0 && call.bytes > 0) {
      hook.bytes = call.bytes;
      tell_source(call, hook);
    }
    // What the hook's event has itself, or a call before this one gave it, stays; times on the device add up.
    for (const std::string_view key : {"algorithm", "protocol", "gpu_ns_from"}) {
      const auto text = rank_.strings->find(key);
      if (!text || !rank_.text(hook, key).empty()) continue;
      const auto value = rank_.strings->find(rank_.text(call, key));
      if (value && *value != NameId::none) rank_.texts[hook.reference].emplace_back(*text, *value);
    }
    if (const auto channels = rank_.integer(call, "channels"); channels && !rank_.integer(hook, "channels"))
      rank_.integers[hook.reference].emplace_back(*rank_.strings->find("channels"), *channels);
    if (const auto gpu_ns = rank_.integer(call, "gpu_ns")) add_time(hook, *gpu_ns);
  }

  // The pool is read-only by now: only words that the builder put there (kBytesFrom, sources).
  void tell_source(const Event& call, const Event& hook) {
    const auto key = rank_.strings->find(kBytesFrom), source = rank_.strings->find(to_string(call.source));
    if (key && source) rank_.texts[hook.reference].emplace_back(*key, *source);
  }

  void add_time(const Event& hook, std::int64_t gpu_ns) {
    const NameId key = *rank_.strings->find("gpu_ns");
    auto& numbers = rank_.integers[hook.reference];
    const auto there =
        std::find_if(numbers.begin(), numbers.end(), [key](const auto& number) { return number.first == key; });
    if (there != numbers.end())
      there->second += gpu_ns;
    else
      numbers.emplace_back(key, gpu_ns);
  }

  void remove() {
    EventList kept;
    for (const Event& event : rank_.events) {
      if (folded_.contains(event.reference) && is_call(event)) continue;
      Event& copy = kept.push_back(event);
      const auto target = folded_.find(event.correlation);
      if (event.kind == Kind::range && target != folded_.end()) copy.correlation = target->second;
    }
    for (const auto& [call, hook] : folded_) {
      rank_.integers.erase(call);
      rank_.texts.erase(call);
    }
    rank_.events = std::move(kept);
  }

  RankTimeline& rank_;
  std::map<LaneId, std::size_t> open_;             // the hook's last collective of a thread
  std::map<std::uint64_t, std::uint64_t> folded_;  // reference of the call → of the hook's event
};

}  // namespace

void fold_nccl_calls(RankTimeline& rank) { Folding(rank).run(); }

}  // namespace gradsync
