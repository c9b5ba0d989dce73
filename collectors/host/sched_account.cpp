#include "collectors/host/sched_account.h"

#include <utility>

#include "src/hosttext/numbers.h"

namespace gradsync {
namespace {

constexpr std::size_t kMostPreemptions = 16'000'000;

}  // namespace

SchedAccount::SchedAccount(ProcessOf process_of) : process_of_(std::move(process_of)) {
  waits_.listen([this](const WaitSeen& wait) { heard(wait); });
}

void SchedAccount::heard(const WaitSeen& wait) {
  const Nanoseconds length = wait.until - wait.since;
  WaitTails& tails = tails_[wait.tid];
  Nanoseconds& longest = wait.preempted ? tails.preempted_longest : tails.longest;
  if (length > longest) {
    longest = length;
    (wait.preempted ? tails.preempted_longest_at : tails.longest_at) = wait.until;
  }
  if (wait.preempted && kept_ < kMostPreemptions) {
    ++kept_;
    tails.preempted_us.push_back(static_cast<float>(to_us(length)));
  }
  if (length < kLeastWait) return;
  const std::int64_t pid = process_of_(wait.tid);
  if (pid == 0) return;
  // Preempted: whom the CPU went to. Woken: who had the CPU until now.
  const std::int64_t by = wait.preempted ? wait.by : now_->from;
  hold({Kind::sched_wait, pid, wait.tid, wait.cpu, wait.since, wait.until, std::string(wait.name), waits_.name_of(by)});
}

void SchedAccount::hold(HeldUp held) {
  if (held_.size() < kMostHeldUp)
    held_.push_back(std::move(held));
  else
    ++held_dropped_;
}

void SchedAccount::enter(Handler& handler, const TraceEvent& event, std::string_view name) {
  handler = {true, event.at, event.current, std::string(name)};
}

void SchedAccount::leave(Handler& handler, const TraceEvent& event, Kind kind) {
  if (!std::exchange(handler.open, false) || event.at - handler.since < kLeastIrq || handler.current == 0) return;
  const std::int64_t pid = process_of_(handler.current);
  if (pid == 0) return;
  hold({kind, pid, handler.current, event.cpu, handler.since, event.at, waits_.name_of(handler.current), handler.name});
}

void SchedAccount::add(const TraceEvent& event) {
  const std::string number = event.kind == TraceKind::sched_switch ? "" : std::to_string(event.to);
  switch (event.kind) {
    case TraceKind::sched_switch:
      now_ = &event;
      waits_.switched(event.at,
                      {event.from, event.to, event.name_of_from(), event.name_of_to(), event.runnable, event.cpu});
      break;
    case TraceKind::waking:
    case TraceKind::newborn:
      waits_.wakeup(event.at, event.to, event.name_of_to());
      break;
    case TraceKind::irq_entry:
      irqs_.hard_entry(event.at, event.cpu, number, event.name_of_to());
      enter(cpus_[event.cpu].hard, event, event.name_of_to());
      break;
    case TraceKind::irq_exit:
      irqs_.hard_exit(event.at, event.cpu, number, event.from == 0 ? IrqAnswer::not_mine : IrqAnswer::handled);
      leave(cpus_[event.cpu].hard, event, Kind::irq);
      break;
    case TraceKind::softirq_entry:
      irqs_.soft_entry(event.at, event.cpu, softirq_name(event.to));
      enter(cpus_[event.cpu].soft, event, softirq_name(event.to));
      break;
    case TraceKind::softirq_exit:
      irqs_.soft_exit(event.at, event.cpu, softirq_name(event.to));
      leave(cpus_[event.cpu].soft, event, Kind::softirq);
      break;
  }
}

void SchedAccount::lose_sight() {
  waits_.lose_sight();
  for (auto& [cpu, handlers] : cpus_) handlers = {};
}

const WaitTails* SchedAccount::tails(std::int64_t tid) const {
  const auto known = tails_.find(tid);
  return known == tails_.end() ? nullptr : &known->second;
}

}  // namespace gradsync
