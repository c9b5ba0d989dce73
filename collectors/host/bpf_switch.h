// What the running kernel hands to a program at sched_switch, told by its own description of types (BTF):
//
//   before Linux 5.18    preempt, from, to
//   since                preempt, from, to, state     as `from` was switched out: its own field may be that of a wake-up
//
// Distributions carry changes back, so the version of the kernel would not tell.
#pragma once

#include "src/base/result.h"

struct btf;

namespace gradsync {

enum class SwitchArguments { without_state, with_state, unknown };

SwitchArguments switch_arguments(const btf& types);  // pure

// Of the running kernel; an error where it is neither.
Result<SwitchArguments> running_switch_arguments();

}  // namespace gradsync
