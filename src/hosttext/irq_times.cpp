#include "src/hosttext/irq_times.h"

#include <algorithm>

namespace gradsync {
namespace {

constexpr std::size_t kMostRows = 262144;

}  // namespace

// The row, its count raised; nothing when there are too many.
IrqTime* IrqTimes::add(const Open& done, int cpu, bool soft, Nanoseconds time) {
  const std::tuple key{soft, done.id, done.handler, cpu};
  if (times_.size() >= kMostRows && !times_.contains(key)) {
    ++unpaired_;
    return nullptr;
  }
  IrqTime& row = times_.try_emplace(key, IrqTime{done.id, done.handler, cpu, soft, 0, 0}).first->second;
  ++row.count;
  row.time += time;
  return &row;
}

// Nothing, and counted, for what comes before its predecessor on the CPU.
IrqTimes::Cpu* IrqTimes::in_order(Nanoseconds at, int cpu) {
  Cpu& on = cpus_[cpu];
  if (at < on.last) {
    ++unpaired_;
    return nullptr;
  }
  on.last = at;
  return &on;
}

void IrqTimes::hard_entry(Nanoseconds at, int cpu, std::string_view irq, std::string_view handler) {
  Cpu* const on = in_order(at, cpu);
  if (on == nullptr) return;
  if (on->hard.is_open) ++unpaired_;
  on->hard = {true, at, std::string(irq), std::string(handler)};
}

void IrqTimes::hard_exit(Nanoseconds at, int cpu, std::string_view irq, IrqAnswer answer) {
  Cpu* const on = in_order(at, cpu);
  if (on == nullptr) return;
  if (!on->hard.is_open || on->hard.id != irq) {
    ++unpaired_;
    return;
  }
  IrqTime* const row = add(on->hard, cpu, false, at - on->hard.since);
  if (row != nullptr && answer == IrqAnswer::not_mine) --row->count;
  if (on->soft.is_open) on->hard_inside_soft += at - on->hard.since;
  on->hard.is_open = false;
}

void IrqTimes::soft_entry(Nanoseconds at, int cpu, std::string_view action) {
  Cpu* const on = in_order(at, cpu);
  if (on == nullptr) return;
  if (on->soft.is_open) ++unpaired_;
  on->soft = {true, at, std::string(action), ""};
  on->hard_inside_soft = 0;
}

void IrqTimes::soft_exit(Nanoseconds at, int cpu, std::string_view action) {
  Cpu* const on = in_order(at, cpu);
  if (on == nullptr) return;
  if (!on->soft.is_open || on->soft.id != action) {
    ++unpaired_;
    return;
  }
  add(on->soft, cpu, true, std::max<Nanoseconds>(at - on->soft.since - on->hard_inside_soft, 0));
  on->soft.is_open = false;
}

std::vector<IrqTime> IrqTimes::all() const {
  std::vector<IrqTime> rows;
  for (const auto& [key, row] : times_) rows.push_back(row);
  return rows;
}

std::int64_t IrqTimes::unpaired() const {
  std::int64_t open = 0;
  for (const auto& [cpu, on] : cpus_) open += (on.hard.is_open ? 1 : 0) + (on.soft.is_open ? 1 : 0);
  return unpaired_ + open;
}

}  // namespace gradsync
