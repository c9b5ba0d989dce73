#include "src/commands/device_link.h"

#include <algorithm>
#include <map>

#include "collectors/import/nsys_nccl.h"
#include "src/timeline/fold_nccl_calls.h"

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
    if (calls_.empty()) return;
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

  // NCCL's own calls, and those of the framework's hook in which no call of NCCL's is seen.
  void collect_calls() {
    std::map<std::int64_t, std::vector<Nanoseconds>> own;  // starts, by thread
    for (std::size_t i = 0; i < rank_.events.size(); ++i) {
      const Event& event = rank_.events[i];
      if (is_call_of_collective(event) && event.source == Source::torch_hook) {
        hooks_[thread_of(event)].push_back(i);
      } else if (is_call_of_collective(event)) {
        add(i, NcclGroup::none);
        own[thread_of(event)].push_back(event.start);
      } else if (event.source == Source::nccl_nvtx && event.kind == Kind::range) {
        const std::string_view name = rank_.name(event);
        if (name == "ncclGroupStart") add(i, NcclGroup::start);
        if (name == "ncclGroupEnd") add(i, NcclGroup::end);
      }
    }
    for (const auto& [thread, events] : hooks_)
      for (const std::size_t i : events)
        if (!any_between(own[thread], rank_.events[i].start, rank_.events[i].end)) add(i, NcclGroup::none);
  }

  static bool any_between(const std::vector<Nanoseconds>& sorted, Nanoseconds start, Nanoseconds end) {
    const auto first = std::lower_bound(sorted.begin(), sorted.end(), start);
    return first != sorted.end() && *first <= end;
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
    kernel.bytes = meaning.bytes;
    if (meaning.communicator) kernel.group = NameId{static_cast<std::uint32_t>(*meaning.communicator)};
    std::size_t calls = 0;
    for (const NcclCall& call : calls_.calls_of(correlation)) {
      if (call.operation.empty()) continue;
      const Event& asked = rank_.events[call.event];
      if (calls++ == 0) {
        kernel.sequence = asked.sequence;
        if (kernel.bytes > 0) tell_source(asked, kernel);
        if (!tells_operation(kernel) && !meaning.operation.empty()) kernel.name = asked.name;
      }
      asked_.push_back(call.event);
      const Event* hook = take_over_hook(kernel, asked);
      if (calls == 1 && hook != nullptr && kernel.bytes == 0 && calls_.calls_of(correlation).size() == 1) {
        kernel.bytes = hook->bytes;
        if (kernel.bytes > 0) tell_source(*hook, kernel);
      }
    }
    if (calls > 1) forget_elements(kernel);
    if (calls > 0) return;
    // Launched inside the hook's call, but after NCCL's own had returned.
    if (const auto launch = launch_of_.find(kernel.correlation); launch != launch_of_.end())
      take_over_hook(kernel, rank_.events[launch->second]);
  }

  // Those of the first call alone, beside bytes of all.
  void forget_elements(const Event& kernel) {
    const auto known = rank_.integers.find(kernel.reference);
    const std::optional<NameId> key = rank_.strings->find("elements");
    if (known != rank_.integers.end() && key)
      std::erase_if(known->second, [&key](const auto& value) { return value.first == *key; });
  }

  bool tells_operation(const Event& kernel) const {
    return rank_.name(kernel) != "collective" && rank_.name(kernel) != "send_recv";
  }

  // Whose bytes these are; of several calls in one kernel the first one's.
  void tell_source(const Event& from, const Event& kernel) {
    const std::string_view told = rank_.text(from, kBytesFrom);
    const auto key = rank_.strings->find(kBytesFrom),
               source = rank_.strings->find(told.empty() ? to_string(from.source) : told);
    if (key && source && rank_.text(kernel, kBytesFrom).empty())
      rank_.texts[kernel.reference].emplace_back(*key, *source);
  }

  // What the framework's hook knows of the call around `inner`; null when there is none.
  const Event* take_over_hook(Event& kernel, const Event& inner) {
    const auto of_thread = hooks_.find(thread_of(inner));
    if (of_thread == hooks_.end()) return nullptr;
    const std::vector<std::size_t>& events = of_thread->second;  // by start
    const auto behind =
        std::upper_bound(events.begin(), events.end(), inner.start,
                         [this](Nanoseconds time, std::size_t i) { return time < rank_.events[i].start; });
    if (behind == events.begin()) return nullptr;
    const std::size_t i = *std::prev(behind);
    const Event& hook = rank_.events[i];
    if (hook.end != 0 && hook.end < inner.start) return nullptr;
    asked_.push_back(i);
    kernel.flags |= hook.flags & (kFlagInHook | kFlagAsync);
    if (hook.group != NameId::none) kernel.group = hook.group;
    kernel.sequence = hook.sequence;
    copy_attributes(rank_.integers, hook, kernel);
    copy_attributes(rank_.texts, hook, kernel);
    return &hook;
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
