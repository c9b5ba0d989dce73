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
