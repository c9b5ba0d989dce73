#include "src/hosttext/proc_tasks.h"

#include <doctest/doctest.h>

using namespace gradsync;

TEST_CASE("schedstat: run, wait, slices") {
  const auto stat = parse_schedstat("4522180 137012 31\n");
  REQUIRE(stat);
  CHECK(stat->run == 4522180);
  CHECK(stat->wait == 137012);
  CHECK(stat->slices == 31);
  for (const char* broken : {"", "1 2", "1 -2 3", "a b c", "99999999999999999999 1 1"})
    CHECK_FALSE(parse_schedstat(broken));
}

TEST_CASE("status: what is there, and nothing else") {
  const ThreadStatus status = parse_thread_status(
      "Name:\tpt_autograd_0\nState:\tT (stopped)\nCpus_allowed_list:\t0-3,8\n"
      "voluntary_ctxt_switches:\t150\nnonvoluntary_ctxt_switches:\t7\n");
  CHECK(status.name == "pt_autograd_0");
  CHECK(status.state == 'T');
  CHECK(*status.voluntary == 150);
  CHECK(*status.involuntary == 7);
  CHECK(status.cpus_allowed == "0-3,8");
  CHECK_FALSE(parse_thread_status("Name:\ta\nvoluntary_ctxt_switches:\tmany\n").voluntary);
  CHECK(parse_thread_status("").state == 0);
}

TEST_CASE("migrations") {
  CHECK(*parse_migrations("python3 (1, #threads: 1)\n---\nse.nr_migrations     :      8\nnr_switches : 9\n") == 8);
  CHECK_FALSE(parse_migrations("nr_switches : 9\n"));
  CHECK_FALSE(parse_migrations("se.nr_migrations"));
}
