// The few fields of the kernel's structures that the program reads. The loader finds where they lie in the running kernel
// (CO-RE), so that no vmlinux.h of one kernel is needed.
#pragma once

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct task_struct {
  int pid, tgid;
  char comm[16];
  unsigned int __state;
};

// Before Linux 5.14. What follows ___ is not part of the name.
struct task_struct___with_state {
  long state;
};

struct irqaction {
  const char* name;
};

#pragma clang attribute pop

// From Linux 5.18 on sched_switch tells the state that a thread had when it was switched out. Its own field may be that of
// a wake-up by then.
typedef void (*btf_trace_sched_switch)(void*, _Bool, struct task_struct*, struct task_struct*, unsigned int);
