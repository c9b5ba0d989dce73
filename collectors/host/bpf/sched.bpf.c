// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// Runs in the kernel at the scheduler's and interrupts' tracepoints: totals in maps, and the stretches that are worth an
// event of their own through a ring. The states of a thread and what counts as a wait are those of
// src/hosttext/thread_waits.cpp, by which the other tier accounts.
#include <linux/bpf.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "collectors/host/bpf/kernel_types.h"
#include "collectors/host/bpf/sched_maps.h"

#define OVERTAKES 50000ULL  // ns between a wake-up and the switch to sleep that it overtakes

char kLicense[] SEC("license") = "GPL";  // what the kernel asks of a program that uses its tracing helpers

const volatile struct BpfConfig config = {};
BpfU32 epoch = 0;  // 0: pause. Each pause ends one: what threads and handlers did before it is not known

struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(max_entries, kBpfMostThreads);
  __type(key, BpfU32);
  __type(value, struct BpfThread);
} threads SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(max_entries, kBpfMostPreemptors);
  __type(key, struct BpfPreemptorKey);
  __type(value, struct BpfPreemptor);
} preemptors SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(max_entries, kBpfMostProcesses);
  __type(key, BpfU32);
  __type(value, BpfU32);
} job SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_PERCPU_HASH);
  __uint(max_entries, kBpfMostActions);
  __type(key, struct BpfActionKey);
  __type(value, struct BpfActionTime);
} actions SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(max_entries, kBpfMostActions);
  __type(key, struct BpfActionKey);
  __type(value, struct BpfActionText);
} action_names SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
  __uint(max_entries, 1);
  __type(key, BpfU32);
  __type(value, struct BpfCpu);
} cpus SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(max_entries, 1);
  __type(key, BpfU32);
  __type(value, struct BpfThread);
} nobody SEC(".maps");  // zeros: a thread that was never seen is larger than the stack

struct {
  __uint(type, BPF_MAP_TYPE_RINGBUF);
  __uint(max_entries, 1 << 21);
} held SEC(".maps");

static __always_inline struct BpfCpu* this_cpu(BpfU32 program) {
  const BpfU32 zero = 0;
  struct BpfCpu* cpu = epoch ? bpf_map_lookup_elem(&cpus, &zero) : 0;
  if (cpu) ++cpu->events[program];
  return cpu;
}

static __always_inline int of_job(BpfU32 tgid) { return !config.only_job || bpf_map_lookup_elem(&job, &tgid) != 0; }

static __always_inline void name_of(struct task_struct* task, char* name) {
  bpf_core_read(name, kBpfName, &task->comm);
}

// The thread's totals, made when it is new; nothing when there is no room.
static __always_inline struct BpfThread* thread_of(struct task_struct* task, struct BpfCpu* cpu, BpfU32 program) {
  const BpfU32 zero = 0, tid = task->pid;
  struct BpfThread* thread = bpf_map_lookup_elem(&threads, &tid);
  if (!thread) {
    const struct BpfThread* none = bpf_map_lookup_elem(&nobody, &zero);
    if (!none) return 0;
    bpf_map_update_elem(&threads, &tid, none, BPF_NOEXIST);
    thread = bpf_map_lookup_elem(&threads, &tid);
    if (!thread) {
      ++cpu->unplaced[program];
      return 0;
    }
    thread->tgid = task->tgid;
    name_of(task, thread->name);
  }
  if (thread->epoch != epoch) {
    thread->epoch = epoch;
    thread->state = kBpfUnknown;
    thread->woken_running = 0;
    thread->overtaken = 0;
  }
  return thread;
}

static __always_inline BpfU32 bucket_of(BpfU64 delay) {
  BpfU32 octave = 0;
  BpfU64 rest = delay;
  if (rest >> 32) octave += 32, rest >>= 32;
  if (rest >> 16) octave += 16, rest >>= 16;
  if (rest >> 8) octave += 8, rest >>= 8;
  if (rest >> 4) octave += 4, rest >>= 4;
  if (rest >> 2) octave += 2, rest >>= 2;
  if (rest >> 1) octave += 1;
  if (octave < kBpfFirstOctave) return 0;
  const BpfU32 bucket = 1 + (octave - kBpfFirstOctave) * 4 + (BpfU32)((delay >> (octave - 2)) & 3);
  return bucket < kBpfBuckets ? bucket : kBpfBuckets - 1;
}

static __always_inline void add_delay(struct BpfDelays* delays, BpfU64 delay, BpfU64 now) {
  ++delays->count;
  delays->sum += delay;
  if (delay > delays->longest) {
    delays->longest = delay;
    delays->longest_at = now;
  }
  const BpfU32 bucket = bucket_of(delay);
  if (bucket < kBpfBuckets) ++delays->buckets[bucket];
}

static __always_inline struct BpfHeldUp* reserve(struct BpfCpu* cpu) {
  struct BpfHeldUp* record = bpf_ringbuf_reserve(&held, sizeof *record, 0);
  if (!record) ++cpu->held_dropped;
  return record;
}

// No wake-up of the reader: it looks by the clock.
static __always_inline void hand_over(struct BpfHeldUp* record) { bpf_ringbuf_submit(record, BPF_RB_NO_WAKEUP); }

static __always_inline void hold_wait(struct BpfCpu* cpu, const struct BpfThread* thread, struct task_struct* before,
                                      BpfU32 tid, BpfU64 now) {
  struct BpfHeldUp* record = reserve(cpu);
  if (!record) return;
  record->start = thread->since;
  record->end = now;
  record->kind = kBpfHeldWait;
  record->cpu = bpf_get_smp_processor_id();
  record->pid = thread->tgid;
  record->tid = tid;
  __builtin_memcpy(record->name, thread->name, kBpfName);
  // Preempted: whom the CPU went to. Woken: who had the CPU until now.
  if (thread->state == kBpfPreempted) {
    record->by = thread->by;
    __builtin_memcpy(record->by_name, thread->by_name, kBpfName);
  } else {
    record->by = before->pid;
    name_of(before, record->by_name);
  }
  hand_over(record);
}

static __always_inline void charge(struct BpfCpu* cpu, const struct BpfThread* thread, BpfU32 tid, BpfU64 waited) {
  const struct BpfPreemptorKey key = {tid, thread->by};
  struct BpfPreemptor* known = bpf_map_lookup_elem(&preemptors, &key);
  if (known) {
    known->wait += waited;
    return;
  }
  struct BpfPreemptor fresh = {.wait = waited};
  __builtin_memcpy(fresh.name, thread->by_name, kBpfName);
  bpf_map_update_elem(&preemptors, &key, &fresh, BPF_ANY);
}

static __always_inline void put_on(struct task_struct* task, struct task_struct* before, struct BpfCpu* cpu,
                                   BpfU64 now) {
  struct BpfThread* thread = thread_of(task, cpu, kBpfSwitch);
  if (!thread) return;
  const BpfU32 tid = task->pid, cpu_after = bpf_get_smp_processor_id() + 1;
  const BpfU64 waited = now - thread->since;
  if (thread->state == kBpfWoken || thread->state == kBpfPreempted) {
    thread->wait += waited;
    if (waited >= config.least_wait) hold_wait(cpu, thread, before, tid, now);
    if (thread->state == kBpfWoken) {
      add_delay(&thread->woken, waited, now);
    } else {
      add_delay(&thread->preempted, waited, now);
      charge(cpu, thread, tid, waited);
    }
  } else if (thread->state == kBpfAsleep) {
    ++thread->unseen;
  } else if (thread->state == kBpfRunning) {
    ++thread->gaps;
  }
  ++thread->runs;
  if (thread->cpu_after && thread->cpu_after != cpu_after) ++thread->migrations;
  thread->cpu_after = cpu_after;
  thread->state = kBpfRunning;
  thread->since = now;
}

static __always_inline void take_off(struct task_struct* task, struct task_struct* next, int runnable,
                                     struct BpfCpu* cpu, BpfU64 now) {
  struct BpfThread* thread = thread_of(task, cpu, kBpfSwitch);
  if (!thread) return;
  if (thread->state == kBpfRunning) {
    thread->run += now - thread->since;
  } else if (thread->state != kBpfUnknown && (thread->runs || thread->cpu_after)) {
    ++thread->gaps;
    if (thread->state != kBpfPreempted) ++thread->unseen;
  }
  // Programs rename themselves early; later ones are seen in time.
  if (thread->runs < 64 || !(thread->runs & 63)) name_of(task, thread->name);
  thread->cpu_after = bpf_get_smp_processor_id() + 1;
  thread->overtaken = !runnable && thread->woken_running && now - thread->woken_running < OVERTAKES;
  thread->woken_running = 0;
  thread->state = runnable ? kBpfPreempted : thread->overtaken ? kBpfWoken : kBpfAsleep;
  thread->since = now;
  thread->by = next->pid;
  if (runnable) name_of(next, thread->by_name);
}

static __always_inline BpfU64 state_of(struct task_struct* task) {
  if (bpf_core_field_exists(task->__state)) return BPF_CORE_READ(task, __state);
  return BPF_CORE_READ((struct task_struct___with_state*)task, state);
}

SEC("tp_btf/sched_switch")
int BPF_PROG(on_switch, _Bool preempt, struct task_struct* from, struct task_struct* to) {
  struct BpfCpu* cpu = this_cpu(kBpfSwitch);
  if (!cpu) return 0;
  const int from_counts = from->pid && of_job(from->tgid), to_counts = to->pid && of_job(to->tgid);
  if (!from_counts && !to_counts) return 0;
  const BpfU64 now = bpf_ktime_get_ns();
  if (from_counts) {
    const BpfU64 state = config.switch_tells_state ? (BpfU32)ctx[3] : state_of(from);
    take_off(from, to, preempt || !state, cpu, now);
  }
  if (to_counts) put_on(to, from, cpu, now);
  return 0;
}

static __always_inline void wake(struct task_struct* task, struct BpfCpu* cpu, BpfU32 program) {
  if (!task->pid || !of_job(task->tgid)) return;
  struct BpfThread* thread = thread_of(task, cpu, program);
  if (!thread) return;
  const BpfU64 now = bpf_ktime_get_ns();
  if (thread->state == kBpfRunning) thread->woken_running = now;
  const int slept = thread->state == kBpfWoken && thread->overtaken;
  if (thread->state != kBpfAsleep && thread->state != kBpfUnknown && !slept) return;
  thread->overtaken = 0;
  thread->since = now;
  thread->state = kBpfWoken;
}

SEC("tp_btf/sched_waking")
int BPF_PROG(on_waking, struct task_struct* task) {
  struct BpfCpu* cpu = this_cpu(kBpfWaking);
  if (cpu) wake(task, cpu, kBpfWaking);
  return 0;
}

// A child of the job belongs to it from its first moment, however soon it ends.
SEC("tp_btf/sched_wakeup_new")
int BPF_PROG(on_newborn, struct task_struct* task) {
  struct BpfCpu* cpu = this_cpu(kBpfNewborn);
  if (!cpu) return 0;
  const BpfU32 parent = bpf_get_current_pid_tgid() >> 32, child = task->tgid, yes = 1;
  if (config.only_job && child != parent && (parent == config.ancestor || of_job(parent)))
    if (bpf_map_update_elem(&job, &child, &yes, BPF_ANY)) ++cpu->unplaced[kBpfNewborn];
  wake(task, cpu, kBpfNewborn);
  return 0;
}

SEC("tp_btf/irq_handler_entry")
int BPF_PROG(on_irq_entry, int irq, struct irqaction* action) {
  struct BpfCpu* cpu = this_cpu(kBpfIrqEntry);
  if (!cpu) return 0;
  cpu->hard_irq = irq;
  cpu->hard_epoch = epoch;
  cpu->hard_since = bpf_ktime_get_ns();
  return 0;
}

static __always_inline void name_action(const struct BpfActionKey* key, struct irqaction* action) {
  struct BpfActionText text = {};
  const char* name = action->name;
  bpf_probe_read_kernel_str(text.text, sizeof text.text, name);
  bpf_map_update_elem(&action_names, key, &text, BPF_ANY);
}

// The thread whose time it took, when that is one of the job.
static __always_inline struct BpfHeldUp* hold_irq(struct BpfCpu* cpu, BpfU32 kind, BpfU64 since, BpfU64 now) {
  const BpfU64 current = bpf_get_current_pid_tgid();
  if (now - since < config.least_irq || !(BpfU32)current || !of_job(current >> 32)) return 0;
  struct BpfHeldUp* record = reserve(cpu);
  if (!record) return 0;
  record->start = since;
  record->end = now;
  record->kind = kind;
  record->cpu = bpf_get_smp_processor_id();
  record->pid = current >> 32;
  record->tid = (BpfU32)current;
  record->by = 0;
  bpf_get_current_comm(record->name, kBpfName);
  return record;
}

SEC("tp_btf/irq_handler_exit")
int BPF_PROG(on_irq_exit, int irq, struct irqaction* action, int handled) {
  struct BpfCpu* cpu = this_cpu(kBpfIrqExit);
  if (!cpu || !cpu->hard_since || cpu->hard_irq != (BpfU32)irq || cpu->hard_epoch != epoch) return 0;
  const BpfU64 now = bpf_ktime_get_ns(), since = cpu->hard_since;
  cpu->hard_since = 0;
  if (cpu->soft_since) cpu->hard_inside_soft += now - since;

  const struct BpfActionKey key = {(BpfU64)action, irq, 0};
  struct BpfActionTime* time = bpf_map_lookup_elem(&actions, &key);
  if (!time) {
    const struct BpfActionTime none = {};
    bpf_map_update_elem(&actions, &key, &none, BPF_NOEXIST);
    name_action(&key, action);
    time = bpf_map_lookup_elem(&actions, &key);
  }
  if (time) {
    if (handled) ++time->count;  // else the line is shared, and another device called
    time->time += now - since;
  } else {
    ++cpu->unplaced[kBpfIrqExit];
  }
  struct BpfHeldUp* record = hold_irq(cpu, kBpfHeldIrq, since, now);
  if (!record) return 0;
  const char* name = action->name;
  bpf_probe_read_kernel_str(record->by_name, kBpfActionName, name);
  hand_over(record);
  return 0;
}

SEC("tp_btf/softirq_entry")
int BPF_PROG(on_softirq_entry, unsigned int vector) {
  struct BpfCpu* cpu = this_cpu(kBpfSoftirqEntry);
  if (!cpu) return 0;
  cpu->soft_vector = vector;
  cpu->soft_epoch = epoch;
  cpu->hard_inside_soft = 0;
  cpu->soft_since = bpf_ktime_get_ns();
  return 0;
}

SEC("tp_btf/softirq_exit")
int BPF_PROG(on_softirq_exit, unsigned int vector) {
  struct BpfCpu* cpu = this_cpu(kBpfSoftirqExit);
  if (!cpu || !cpu->soft_since || cpu->soft_vector != vector || cpu->soft_epoch != epoch) return 0;
  const BpfU64 now = bpf_ktime_get_ns(), since = cpu->soft_since, inside = cpu->hard_inside_soft;
  cpu->soft_since = 0;
  const BpfU32 slot = vector & (kBpfSoftirqs - 1);
  ++cpu->soft_count[slot];
  if (now - since > inside) cpu->soft_time[slot] += now - since - inside;
  struct BpfHeldUp* record = hold_irq(cpu, kBpfHeldSoftirq, since, now);
  if (!record) return 0;
  record->by = vector;
  record->by_name[0] = 0;
  hand_over(record);
  return 0;
}
