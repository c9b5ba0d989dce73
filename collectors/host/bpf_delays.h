// What the kernel's totals say in the terms of src/hosttext. Pure.
#pragma once

#include "collectors/host/bpf/sched_maps.h"
#include "collectors/host/trace_tier.h"

namespace gradsync {

// Lower bound of a bucket of delays, ns.
Nanoseconds delay_bucket_begin(std::uint32_t bucket);

// Count, quantiles (to an eighth), largest and mean into `wait`.
void summarise_delays(const BpfDelays& delays, ThreadWait& wait);

// `clock_offset`: from the kernel's clock to ours. The preemptor is the caller's to name.
ThreadSeen seen_of(std::int64_t tid, const BpfThread& thread, Nanoseconds clock_offset);

HeldUp held_up_of(const BpfHeldUp& record, Nanoseconds clock_offset);

IrqTime irq_time_of(int softirq, int cpu, const BpfCpu& totals);
IrqTime irq_time_of(const BpfActionKey& key, const BpfActionText& name, int cpu, const BpfActionTime& time);

// "python3:2341"; "idle" for 0.
std::string thread_label(const char (&name)[kBpfName], std::int64_t tid);

}  // namespace gradsync
