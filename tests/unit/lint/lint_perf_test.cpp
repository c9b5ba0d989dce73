#include "tests/unit/lint/linted.h"

namespace gradsync {
namespace {

using Lines = std::vector<std::string>;

CommandLint perf(const std::string& command) { return test::linted(lint_perf, command); }

}  // namespace

TEST_CASE("right commands have no finding") {
  for (const char* command : {"perf sched latency -p -s max", "perf sched latency -s avg,max -i my.data",
                              "perf record -F 499 -g -p 42 -- sleep 10", "perf sched timehist -Mw",
                              "perf record -e irq:irq_handler_entry -e irq:softirq_entry -a"}) {
    CAPTURE(command);
    CHECK(test::said(perf(command)) == Lines{});
    CHECK(perf(command).right.empty());
  }
}

TEST_CASE("one mistake at a time") {
  const struct {
    const char* command;
    Lines said;
    const char* last;  // of the right lines
  } cases[] = {
      {"perf sched latency -H", {"error -H"}, "perf sched latency -p -s max"},
      {"perf sched latency -p -s longest > out", {"error -s longest"}, "perf sched latency -p > out"},
      {"perf sched record -a -- sleep 10",
       {"warning perf sched record"},
       "perf record -a -e sched:sched_switch,sched:sched_wakeup,sched:sched_wakeup_new,sched:sched_migrate_task -- "
       "sleep 10"},
      {"perf record -e syscalls:sys_enter_copy_to_user -a sleep 10",
       {"error syscalls:sys_enter_copy_to_user"},
       "perf report --no-children --symbol-filter=copy   # _copy_to_user, _copy_from_user, rep_movs_alternative"},
      {"perf record -e irq:irq_handler_entry,irq:irq_handler_exit -a", {"info irq:irq_handler_entry"}, nullptr},
      {"echo 0-3 /proc/irq/44/smp_affinity_list",
       {"error echo", "warning /proc/irq"},
       "sudo gradsync-doctor irq --fix"},
      {"echo 2 > /proc/irq/44/smp_affinity_list", {"warning /proc/irq"}, "sudo gradsync-doctor irq --fix"},
  };
  for (const auto& expected : cases) {
    CAPTURE(expected.command);
    const CommandLint lint = perf(expected.command);
    CHECK(test::said(lint) == expected.said);
    CHECK((lint.right.empty() ? "" : lint.right.back()) ==
          (expected.last == nullptr ? "" : std::string(expected.last)));
  }
}

TEST_CASE("the lint says when there is nothing to judge") {
  const auto lint = lint_perf("top");
  REQUIRE(!lint);
  CHECK(lint.error().exit_status == 2);
}

}  // namespace gradsync
