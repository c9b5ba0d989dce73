#include "collectors/host/collisions.h"

#include <fmt/format.h>

#include <algorithm>

#include "src/base/text.h"

namespace gradsync {
namespace {

constexpr std::size_t kMostTold = 6;

const char* word_of(Collision::Kind kind) { return kind == Collision::Kind::same_cpu ? "same CPU" : "SMT siblings"; }

// The core that a busy thread cannot leave; nothing for one that may run elsewhere.
const CpuList* core_of(const CoreThread& thread, const std::map<int, CpuList>& cores) {
  if (thread.percent < kLeastBusyPercent || thread.allowed.empty()) return nullptr;
  const auto core = cores.find(thread.allowed.front());
  const bool bound = core != cores.end() && without(thread.allowed, core->second).empty();
  return bound ? &core->second : nullptr;
}

Collision collision_of(std::vector<const CoreThread*> threads, const std::vector<CoreInterrupts>& interrupts) {
  Collision found;
  std::stable_sort(threads.begin(), threads.end(),
                   [](const CoreThread* a, const CoreThread* b) { return a->percent > b->percent; });
  std::map<int, int> alone_on;  // CPUs that are all a thread has
  for (const CoreThread* thread : threads) {
    found.cpus = joined(found.cpus, thread->allowed);
    if (thread->allowed.size() == 1) ++alone_on[thread->allowed.front()];
    if (found.who.size() < kMostTold) found.who.push_back(fmt::format("{} ({:.0f} %)", thread->name, thread->percent));
  }
  for (const CoreInterrupts& one : interrupts) {
    found.cpus = joined(found.cpus, {one.cpu});
    if (alone_on.contains(one.cpu)) ++alone_on[one.cpu];
    found.who.push_back(fmt::format("{} ({:.0f} interrupts/s)", one.device, one.per_s));
  }
  const bool turns = std::any_of(alone_on.begin(), alone_on.end(), [](const auto& cpu) { return cpu.second > 1; });
  if (turns || found.cpus.size() == 1) found.kind = Collision::Kind::same_cpu;
  return found;
}

}  // namespace

std::vector<Collision> find_collisions(const std::vector<CoreThread>& threads,
                                       const std::vector<CoreInterrupts>& interrupts,
                                       const std::map<int, CpuList>& cores) {
  std::map<CpuList, std::vector<const CoreThread*>> bound;
  for (const CoreThread& thread : threads)
    if (const CpuList* core = core_of(thread, cores)) bound[*core].push_back(&thread);
  std::vector<Collision> found;
  for (const auto& [core, on_it] : bound) {
    std::vector<CoreInterrupts> loud;
    for (const CoreInterrupts& one : interrupts)
      if (one.per_s >= kLeastInterrupts && contains(core, one.cpu)) loud.push_back(one);
    if (on_it.size() + loud.size() >= 2) found.push_back(collision_of(on_it, loud));
  }
  std::stable_sort(found.begin(), found.end(), [](const Collision& a, const Collision& b) { return a.kind < b.kind; });
  return found;
}

void add_collisions(const std::vector<CoreThread>& threads, const std::vector<CoreInterrupts>& interrupts,
                    const std::map<int, CpuList>& cores, const std::string& machine, RecordingParts& parts) {
  const bool known = std::any_of(threads.begin(), threads.end(), [&](const CoreThread& thread) {
    return !thread.allowed.empty() && cores.contains(thread.allowed.front());
  });
  if (!known) return;
  const std::vector<Collision> found = find_collisions(threads, interrupts, cores);
  parts.facts["sched.same_core.kind"] = found.empty() ? "none" : word_of(found.front().kind);
  if (found.empty()) return;
  Series series{"collisions", {"machine", "cpus", "kind", "who"}, {}};
  for (const Collision& one : found)
    series.rows.push_back({machine, format_cpu_list(one.cpus), std::string(word_of(one.kind)), join(one.who, ", ")});
  parts.series["collisions"] = std::move(series);
  const Collision& first = found.front();
  parts.facts["sched.same_core"] = fmt::format("CPU {}: {}", format_cpu_list(first.cpus), join(first.who, ", ")) +
                                   (found.size() > 1 ? fmt::format("; {} more cores", found.size() - 1) : "");
}

}  // namespace gradsync
