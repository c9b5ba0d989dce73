// What `sched` watches with: the best way that is allowed here, with /proc beside it or alone.
//
//   eBPF, else perf rings      every thread; waits after wake-ups and preemptions
//   switch records             threads of this user; waits after preemptions
//   /proc                      sums; of a copy of another machine's files that is all there is
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "collectors/host/proc_sampler.h"
#include "collectors/host/sched_trace.h"
#include "collectors/host/switch_trace.h"
#include "collectors/host/ticker.h"
#include "src/commands/sched_table.h"

namespace gradsync {

enum class Watched { machine, process, command };

struct WatchOptions {
  IrqRoots roots;
  Watched subject = Watched::machine;
  std::int64_t pid = 0;  // of Watched::process
  std::string tier = "best";
  Since since = Since::first_look;
};

class SchedWatch {
 public:
  explicit SchedWatch(const WatchOptions& options);

  // On the thread that starts the command afterwards. What is refused is told by finish.
  void start();
  // One look at /proc, in place of start.
  void look_once();
  SchedTable table() const;  // of what is known so far; after finish, of all
  RecordingParts finish();

 private:
  void open_trace();
  void open_switches();
  std::vector<ThreadSeen> threads() const;

  WatchOptions options_;
  std::unique_ptr<SchedTrace> trace_;
  std::unique_ptr<SwitchTrace> switches_;
  std::optional<Error> refused_, switches_refused_;
  mutable std::mutex mutex_;  // sampler_
  ProcSampler sampler_;
  Ticker ticker_;
};

}  // namespace gradsync
