#include "src/hosttext/perf_script_line.h"

#include <doctest/doctest.h>

namespace gradsync {

TEST_CASE("a context switch, in perf's own words and in the library's short form") {
  const char* const lines[] = {
      " kworker/1:1H-kb    44 [001]  1947.020279:       sched:sched_switch: prev_comm=kworker/1:1H prev_pid=44 "
      "prev_prio=100 prev_state=R+ ==> next_comm=my train.py next_pid=512 next_prio=120",
      " kworker/1:1H-kb    44 [001]  1947.020279:       sched:sched_switch: kworker/1:1H:44 [100] R+ ==> "
      "my train.py:512 [120]",
      " kworker/1:1H-kb    44/44    [001] d..2. 1947.020279:          1 sched:sched_switch: prev_comm=kworker/1:1H "
      "prev_pid=44 prev_prio=100 prev_state=R ==> next_comm=my train.py next_pid=512 next_prio=120",
  };
  for (const char* text : lines) {
    CAPTURE(text);
    const auto line = parse_script_line(text);
    REQUIRE(line);
    CHECK(line->kind == Tracepoint::sched_switch);
    CHECK(line->at == 1'947'020'279'000);
    CHECK(line->cpu == 1);
    CHECK(line->change.cpu == 1);
    CHECK(line->change.from == 44);
    CHECK(line->change.to == 512);
    CHECK(line->change.from_name == "kworker/1:1H");
    CHECK(line->change.to_name == "my train.py");
    CHECK(line->change.from_runnable);
  }
}

TEST_CASE("wake-ups and interrupts") {
  struct Case {
    const char* text;
    Tracepoint kind;
    std::string_view name, irq;
    std::int64_t tid;
  };
  const Case cases[] = {
      {"swapper 0 [000] 1.5: sched:sched_waking: comm=a b pid=9 prio=120 target_cpu=000", Tracepoint::wakeup, "a b", "",
       9},
      {"swapper 0 [000] 1.5: sched:sched_wakeup: a:b:9 [120] success=1 CPU:000", Tracepoint::wakeup, "a:b", "", 9},
      {"swapper 0 [000] 1.5: sched:sched_wakeup_new: comm=a pid=9 prio=120 target_cpu=0", Tracepoint::wakeup, "a", "",
       9},
      {"swapper 0 [000] 1.5: irq:irq_handler_entry: irq=32 name=virtio0-rx", Tracepoint::irq_entry, "virtio0-rx", "32",
       0},
      {"swapper 0 [000] 1.5: irq:irq_handler_exit: irq=32 ret=handled", Tracepoint::irq_exit, "", "32", 0},
      {"swapper 0 [000] 1.5: irq:softirq_entry: vec=3 [action=NET_RX]", Tracepoint::softirq_entry, "", "NET_RX", 0},
      {"swapper 0 [000] 1.5: irq:softirq_exit: vec=3 [action=NET_RX]", Tracepoint::softirq_exit, "", "NET_RX", 0},
      {"swapper 0 [000] 1.5: irq:softirq_raise: vec=3 [action=NET_RX]", Tracepoint::other, "", "NET_RX", 0},
      {"swapper 0 [000] 1.5: sched:sched_stat_runtime: comm=a pid=9 runtime=5 [ns]", Tracepoint::other, "", "", 0},
      {"a [b] c 7 [003] 1.5: irq:irq_handler_exit: irq=1 ret=handled", Tracepoint::irq_exit, "", "1", 0},
  };
  for (const Case& c : cases) {
    CAPTURE(c.text);
    const auto line = parse_script_line(c.text);
    REQUIRE(line);
    CHECK(line->kind == c.kind);
    CHECK(line->name == c.name);
    CHECK(line->irq == c.irq);
    CHECK(line->tid == c.tid);
    CHECK_FALSE(line->fields_unknown);
  }
}

TEST_CASE("fields that are cut are counted, other lines are no events") {
  const auto cut = parse_script_line("swapper 0 [000] 1.5: sched:sched_switch: prev_comm=a prev_pid=9 prev_pr");
  REQUIRE(cut);
  CHECK(cut->kind == Tracepoint::other);
  CHECK(cut->fields_unknown);
  for (const char* text :
       {"", "# cmdline : perf sched record", "\tffffffff81 [unknown] (/lib/x.so)", "swapper 0 [000] 1.5:",
        "swapper 0 [000] then: sched:sched_switch: x", "swapper 0 [cpu] 1.5: sched:sched_switch: x",
        "swapper 0 [99999999999999999999] 1.5: sched:sched_switch: x", "1942.669775 [0000]  perf[2348]  0.0 0.0 0.0"}) {
    CAPTURE(text);
    CHECK_FALSE(parse_script_line(text));
  }
}

TEST_CASE("what perf lost") {
  CHECK(lost_by_perf("perf 12 [000] 1.5: PERF_RECORD_LOST lost 12") == 12);
  CHECK(lost_by_perf("Processed 100 events and lost 3 chunks!") == 3);
  CHECK_FALSE(lost_by_perf("the train is lost 12"));
}

}  // namespace gradsync
