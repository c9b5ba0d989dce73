#include "collectors/import/nccl_operation.h"

#include <doctest/doctest.h>

#include "src/base/text.h"

namespace gradsync {

TEST_CASE("programs of nccl-tests are known by their name") {
  CHECK(operation_of_program("all_reduce_perf") == "all_reduce");
  CHECK(operation_of_program("/opt/nccl-tests/build/alltoall_perf_mpi") == "all_to_all");
  CHECK(operation_of_program("sendrecv_perf") == "send_recv");
  CHECK(operation_of_program("hypercube_perf") == "hypercube");
  CHECK(operation_of_program("train.py") == "");
  CHECK(operation_in_command("+ srun -N 2 /t/build/reduce_scatter_perf -b 8 -e 8G") == "reduce_scatter");
  CHECK(operation_in_command("$ ./all_gather_test 1000") == "all_gather");
  CHECK(operation_in_command("linux-tools perf_event_perf 12") == "");
  CHECK(operation_in_command("measures perf of things") == "");
}

TEST_CASE("a file's name helps only when it names one operation") {
  CHECK(operation_in_file_name("nccl_all-reduce.2nodes.log") == "all_reduce");
  CHECK(operation_in_file_name("AllGather.txt") == "all_gather");
  CHECK(operation_in_file_name("nccl_reduce.log") == "reduce");
  CHECK(operation_in_file_name("allreduce_and_alltoall.log") == "");
  CHECK(operation_in_file_name("run7.log") == "");
}

TEST_CASE("the columns and the ratio of the bandwidths narrow the operation down") {
  struct Case {
    TableShape shape;
    const char* expected;
  };
  using enum RedopCells;
  for (const Case& c :
       {Case{{named, false, 1.75, 8}, "all_reduce"}, Case{{named, false, 1.75, 0}, "all_reduce"},
        // two ranks: 2(n-1)/n is 1, as for a send and receive
        Case{{named, false, 1.0, 2}, "send_recv all_reduce"}, Case{{named, false, 1.0, 8}, "send_recv"},
        Case{{named, false, 0.875, 8}, "reduce_scatter"}, Case{{named, true, 1.0, 8}, "reduce"},
        Case{{none, true, 0.875, 8}, "gather scatter"}, Case{{none, false, 0.875, 8}, "all_gather all_to_all"},
        Case{{blank, false, 0.875, 8}, "all_to_all"}, Case{{no_column, false, 0.875, 8}, "all_gather"},
        Case{{no_column, true, 1.0, 8}, "broadcast gather scatter"},
        // one rank, or sizes too small to show a bandwidth: nothing is excluded
        Case{{named, false, 0, 0}, "send_recv all_reduce reduce_scatter"}}) {
    CAPTURE(c.expected);
    CHECK(join(possible_operations(c.shape), " ") == c.expected);
  }
}

}  // namespace gradsync
