// What the program in the kernel and its reader share: keys and values of the maps, the records of the ring. Plain C. Times
// are CLOCK_MONOTONIC in ns, but for a time namespace.
#pragma once

typedef unsigned long long BpfU64;  // NOLINT(modernize-use-using): C
typedef unsigned int BpfU32;        // NOLINT(modernize-use-using)

enum BpfSizes {
  kBpfMostThreads = 16384,
  kBpfMostPreemptors = 16384,
  kBpfMostProcesses = 65536,
  kBpfMostActions = 2048,
  kBpfName = 16,
  kBpfActionName = 32,
  kBpfSoftirqs = 16,  // a power of two; Linux has 10
  kBpfPrograms = 7,
};

// Delays by size: those below 256 ns, then four buckets for each power of two, the last from 30 s on. A quantile between
// two bounds is off by at most an eighth.
//
//   bucket   0        1         2         3         4         5 …
//   from ns  0        256       320       384       448       512 …
enum BpfBuckets { kBpfFirstOctave = 8, kBpfBuckets = 1 + 27 * 4 };

struct BpfConfig {
  BpfU32 only_job;  // else every thread of the machine
  BpfU32 ancestor;  // processes that it starts belong to the job
  BpfU64 least_wait, least_irq;
  BpfU32 switch_tells_state;  // in a fourth argument, which older kernels lack: then the program must not look at it
  BpfU32 unused;
};

struct BpfDelays {
  BpfU64 count, sum, longest, longest_at;
  BpfU32 buckets[kBpfBuckets];
};

enum BpfThreadState { kBpfUnknown, kBpfRunning, kBpfWoken, kBpfPreempted, kBpfAsleep };

// By tid. The states are those of src/hosttext/thread_waits.h.
struct BpfThread {
  BpfU64 since, woken_running, wait, run, runs;
  BpfU32 tgid, by, cpu_after;  // cpu_after: its number + 1, 0 = not known
  BpfU32 state, overtaken, epoch, unseen, migrations, gaps;
  char name[kBpfName], by_name[kBpfName];
  struct BpfDelays woken, preempted;
};

struct BpfPreemptorKey {
  BpfU32 tid, by;
};
struct BpfPreemptor {
  BpfU64 wait;
  char name[kBpfName];
};

struct BpfActionKey {
  BpfU64 action;  // distinguishes devices that share a line
  BpfU32 irq, unused;
};
struct BpfActionTime {
  BpfU64 count, time;
};
struct BpfActionText {
  char text[kBpfActionName];
};

enum BpfPart {
  kBpfSwitch,
  kBpfWaking,
  kBpfNewborn,
  kBpfIrqEntry,
  kBpfIrqExit,
  kBpfSoftirqEntry,
  kBpfSoftirqExit,
};

// One for each CPU.
struct BpfCpu {
  BpfU64 events[kBpfPrograms];
  BpfU64 unplaced[kBpfPrograms];  // of these for which a map had no room
  BpfU64 held_dropped;            // records for which the ring had none
  BpfU64 hard_since, soft_since, hard_inside_soft;
  BpfU32 hard_irq, soft_vector, hard_epoch, soft_epoch;
  BpfU64 soft_count[kBpfSoftirqs], soft_time[kBpfSoftirqs];
};

enum BpfHeldKind { kBpfHeldWait, kBpfHeldIrq, kBpfHeldSoftirq };

struct BpfHeldUp {
  BpfU64 start, end;
  BpfU32 kind, cpu, pid, tid, by;  // by: of a wait the thread that had the CPU; of a softirq its vector
  char name[kBpfName], by_name[kBpfActionName];
};
