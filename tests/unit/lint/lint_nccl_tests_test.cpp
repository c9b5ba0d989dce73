#include "tests/unit/lint/linted.h"

namespace gradsync {
namespace {

using Lines = std::vector<std::string>;

CommandLint nccl(const std::string& command) { return test::linted(lint_nccl_tests, command); }

}  // namespace

TEST_CASE("right commands have no finding") {
  for (const char* command :
       {"./build/all_reduce_perf -b 8 -e 128M -f 2 -g 8 > log",
        "NCCL_DEBUG=INFO mpirun -np 16 -N 8 ./build/all_reduce_perf -b 8 -e 1G -f 2 -g 1 2>&1 | tee log",
        "srun --ntasks=16 all_gather_perf --minbytes 1K --maxbytes 1M --stepfactor 2 -n 100 -w 20 >> log",
        "./all_reduce_perf -b 4M -e 4M -t 8 -d bfloat16 -o sum -c 1 | tee log",
        "mpirun -np 2 -x NCCL_DEBUG ./all_reduce_perf -b 8 -e 8M -i 1M -g 1 > log"}) {
    CAPTURE(command);
    CHECK(test::said(nccl(command)) == Lines{});
    CHECK(nccl(command).right.empty());
  }
}

TEST_CASE("a loop of one-rank tests whose log lost its sign") {
  const CommandLint lint = nccl(
      "for s in 1K 2K 4K 8K 1M; do ./build/all_reduce_perf -b $s -e $s -g 1 -w 20 -n 100 nccl_benchmark.log; done");
  CHECK(test::said(lint) == Lines{"error -g 1", "error nccl_benchmark.log", "warning for s"});
  REQUIRE(lint.right.size() == 1);
  CHECK(lint.right[0] == "./build/all_reduce_perf -b 1K -e 1M -g 8 -w 20 -n 100 -f 2 > nccl_benchmark.log");
  CHECK(test::said(nccl(lint.right[0])) == Lines{});
}

TEST_CASE("one mistake at a time") {
  const struct {
    const char* command;
    Lines said;
    const char* right;
  } cases[] = {
      {"all_reduce_perf -b 8 -e 128M -f 2 > log",
       {"error all_reduce_perf"},
       "all_reduce_perf -b 8 -e 128M -f 2 -g 8 > log"},
      {"mpirun -np 1 all_reduce_perf -b 8 -e 8M -f 2 -g 1 > log",
       {"error -g 1"},
       "mpirun -np 1 all_reduce_perf -b 8 -e 8M -f 2 -g 8 > log"},
      {"mpirun all_reduce_perf -b 8 -e 8M -f 2 -g 1 > log", {"info all_reduce_perf"}, nullptr},
      {"all_reduce_perf -b 8 -e 128M -g 8 > log",
       {"warning all_reduce_perf"},
       "all_reduce_perf -b 8 -e 128M -g 8 -f 2 > log"},
      {"all_reduce_perf -b 1M -e 1K -f 2 -g 8 > log",
       {"error -b 1M -e 1K"},
       "all_reduce_perf -b 1M -e 1K -f 2 -g 8 > log"},
      {"all_reduce_perf -b 8 -e 8M -f 2 -g 8 -c 0 > log",
       {"warning -c 0"},
       "all_reduce_perf -b 8 -e 8M -f 2 -g 8 -c 1 > log"},
      {"all_reduce_perf -b 8 -e 8M -f 2 -g 8 -w 0 > log",
       {"warning -w 0"},
       "all_reduce_perf -b 8 -e 8M -f 2 -g 8 -w 5 > log"},
      {"all_reduce_perf -b 8 -e 8M -f 2 -g 8 --iters 1 > log",
       {"warning -n 1"},
       "all_reduce_perf -b 8 -e 8M -f 2 -g 8 --iters=20 > log"},
      {"all_reduce_perf -b 8 -e 8M -f 2 -g 8 -d flot > log",
       {"error -d flot"},
       "all_reduce_perf -b 8 -e 8M -f 2 -g 8 -d float > log"},
      {"all_reduce_perf -b 8 -e 8M -f 2 -g 8",
       {"info all_reduce_perf"},
       "all_reduce_perf -b 8 -e 8M -f 2 -g 8 > nccl_tests.log"},
      {"all_reduce_perf -b 8 -e 8M -f 2 -g 8 | grep 'Avg bus bandwidth'",
       {"warning Avg bus bandwidth"},
       "all_reduce_perf -b 8 -e 8M -f 2 -g 8 > nccl_tests.log"},
      {"all_reduce_perf -b 8 -e 8M -f 2 -g 8 | grep 'Avg time'",
       {"error Avg time"},
       "all_reduce_perf -b 8 -e 8M -f 2 -g 8 > nccl_tests.log"},
  };
  for (const auto& expected : cases) {
    CAPTURE(expected.command);
    const CommandLint lint = nccl(expected.command);
    CHECK(test::said(lint) == expected.said);
    CHECK((lint.right.empty() ? "" : lint.right[0]) == (expected.right == nullptr ? "" : std::string(expected.right)));
  }
}

TEST_CASE("a redirection inside the loop overwrites") {
  const CommandLint lint = nccl("for s in 8 64; do all_reduce_perf -b $s -e $s -g 4 > out.log; done");
  CHECK(test::said(lint) == Lines{"warning for s", "error > out.log"});
  REQUIRE(lint.right.size() == 1);
  CHECK(lint.right[0] == "all_reduce_perf -b 8 -e 64 -g 4 -f 2 > out.log");
}

TEST_CASE("the lint says when there is nothing to judge") {
  const auto lint = lint_nccl_tests("iperf3 -c host");
  REQUIRE(!lint);
  CHECK(lint.error().exit_status == 2);
}

}  // namespace gradsync
