#include "src/commands/device_link.h"

#include <algorithm>
#include <map>

#include "collectors/import/nsys_nccl.h"

namespace gradsync {
namespace {

bool is_device_collective(const Event& event) {
  return event.source == Source::cupti && event.kind == Kind::collective && event.on_stream();
}

bool is_call_of_collective(const Event& event) {
  return event.kind == Kind::collective && !event.on_stream() && !of_device(event.source);
}

bool launches(const RankTimeline& rank, const Event& event) {
  return event.source == Source::cupti && event.kind == Kind::host_call &&
         rank.name(event).find("Launch") != std::string_view::npos;
}

class Linker {
 public:
  explicit Linker(RankTimeline& rank) : rank_(rank) {}

  void run() {
    collect_calls();
    if (calls_.empty() && hooks_.empty()) return;
    calls_.finish();
    for (std::size_t i = 0; i < rank_.events.size(); ++i) {
      const Event& event = rank_.events[i];
      if (!launches(rank_, event) || event.correlation == 0) continue;
      calls_.launch(thread_of(event), event.start, static_cast<std::int64_t>(event.correlation));
      launch_of_[event.correlation] = i;
    }
    for (Event& event : rank_.events)
      if (is_device_collective(event)) link(event);
    for (const std::size_t i : asked_) {
      rank_.events[i].kind = Kind::range;
      rank_.events[i].phase = Phase::none;
    }
  }

 private:
  static std::int64_t thread_of(const Event& event) { return static_cast<std::uint32_t>(event.lane); }

  // The library's own calls where they are seen, else the framework's; the framework's know the place in the program.
  void collect_calls() {
    for (std::size_t i = 0; i < rank_.events.size(); ++i) {
      const Event& event = rank_.events[i];
      if (is_call_of_collective(event)) {
        if (event.source == Source::torch_hook)
          hooks_[thread_of(event)].push_back(i);
        else
          add(i, NcclGroup::none);
      } else if (event.source == Source::nccl_nvtx && event.kind == Kind::range) {
        const std::string_view name = rank_.name(event);
        if (name == "ncclGroupStart") add(i, NcclGroup::start);
        if (name == "ncclGroupEnd") add(i, NcclGroup::end);
      }
    }
    if (!calls_.empty()) return;
    for (const auto& [thread, events] : hooks_)
      for (const std::size_t i : events) add(i, NcclGroup::none);
  }

  void add(std::size_t i, NcclGroup group) {
    const Event& event = rank_.events[i];
    NcclCall call;
    call.thread = thread_of(event);
    call.start = event.start;
    call.end = event.end == 0 ? event.start : event.end;
    call.group = group;
    call.event = i;
    if (group == NcclGroup::none) {
      call.operation = rank_.name(event);
      if (event.bytes > 0) call.arguments.bytes = static_cast<std::uint64_t>(event.bytes);
      if (event.group != NameId::none) call.arguments.communicator = static_cast<std::uint64_t>(event.group);
    }
    calls_.add(call);
  }

  void link(Event& kernel) {
    const auto correlation = static_cast<std::int64_t>(kernel.correlation);
    const NcclMeaning meaning = calls_.find(correlation);
    const std::span<const NcclCall> calls = calls_.calls_of(correlation);
    if (kernel.bytes == 0) kernel.bytes = meaning.bytes;
    if (meaning.communicator) kernel.group = NameId{static_cast<std::uint32_t>(*meaning.communicator)};
    const NcclCall* one = nullptr;
    for (const NcclCall& call : calls) {
      if (call.operation.empty()) continue;
      if (one == nullptr) kernel.sequence = rank_.events[call.event].sequence;
      if (one == nullptr) one = &call;
      asked_.push_back(call.event);
      take_over_hook(kernel, rank_.events[call.event]);
    }
    const bool told = rank_.name(kernel) != kUnknown && rank_.name(kernel) != kPointToPoint;
    if (one != nullptr && !told && !meaning.operation.empty()) kernel.name = rank_.events[one->event].name;
    if (calls.empty())
      if (const auto launch = launch_of_.find(kernel.correlation); launch != launch_of_.end())
        take_over_hook(kernel, rank_.events[launch->second]);
  }

  // What the framework's hook knows of the call around `inner`.
  void take_over_hook(Event& kernel, const Event& inner) {
    const auto of_thread = hooks_.find(thread_of(inner));
    if (of_thread == hooks_.end()) return;
    const std::vector<std::size_t>& events = of_thread->second;  // by start
    const auto behind = std::upper_bound(events.begin(), events.end(), inner.start,
                                         [this](Nanoseconds time, auto i) { return time < rank_.events[i].start; });
    if (behind == events.begin()) return;
    const std::size_t i = *std::prev(behind);
    const Event& hook = rank_.events[i];
    if (hook.end != 0 && hook.end < inner.start) return;
    asked_.push_back(i);
    kernel.flags |= hook.flags & (kFlagInHook | kFlagAsync);
    if (hook.group != NameId::none) kernel.group = hook.group;
    kernel.sequence = hook.sequence;
    if (kernel.bytes == 0) kernel.bytes = hook.bytes;
    copy_attributes(rank_.integers, hook, kernel);
    copy_attributes(rank_.texts, hook, kernel);
  }

  // Of several calls in one kernel the first one's.
  template <class Table>
  static void copy_attributes(Table& table, const Event& from, const Event& to) {
    const auto known = table.find(from.reference);
    if (known == table.end()) return;
    const auto values = known->second;
    auto& own = table[to.reference];
    for (const auto& value : values)
      if (std::none_of(own.begin(), own.end(), [&](const auto& other) { return other.first == value.first; }))
        own.push_back(value);
  }

  static constexpr std::string_view kUnknown = "collective", kPointToPoint = "send_recv";

  RankTimeline& rank_;
  NcclCalls calls_;
  std::map<std::int64_t, std::vector<std::size_t>> hooks_;  // by thread, by start
  std::map<std::uint64_t, std::size_t> launch_of_;          // by correlation
  std::vector<std::size_t> asked_;                          // calls whose kernel was found
};

}  // namespace

void link_device_collectives(std::vector<RankTimeline>& ranks) {
  for (RankTimeline& rank : ranks)
    if (std::any_of(rank.events.begin(), rank.events.end(), is_device_collective)) Linker(rank).run();
}

}  // namespace gradsync
