#include "collectors/fabric/place.h"

#include <doctest/doctest.h>

namespace gradsync {
namespace {

void check_place(const Environment& environment, const std::string& expected) {
  CAPTURE(expected);
  const Result<LaunchPlace> place = place_from(environment);
  REQUIRE(place);
  CHECK(place->launcher + " " + std::to_string(place->rank) + "/" + std::to_string(place->ranks) + " local " +
            std::to_string(place->local_rank) + " at " + place->host + ":" + std::to_string(place->port) ==
        expected);
}

std::string refusal(const Environment& environment) {
  const Result<LaunchPlace> place = place_from(environment);
  return place ? "accepted" : place.error().message();
}

}  // namespace

TEST_CASE("each launcher's variables give rank, size and where rank 0 is") {
  check_place(
      {{"RANK", "3"}, {"WORLD_SIZE", "8"}, {"LOCAL_RANK", "1"}, {"MASTER_ADDR", "node7"}, {"MASTER_PORT", "29500"}},
      "torchrun 3/8 local 1 at node7:30077");
  check_place({{"OMPI_COMM_WORLD_RANK", "1"},
               {"OMPI_COMM_WORLD_SIZE", "2"},
               {"OMPI_COMM_WORLD_LOCAL_RANK", "1"},
               {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"},
               {"GSD_SWEEP_PORT", "7000"}},
              "Open MPI 1/2 local 1 at 127.0.0.1:7000");
  check_place(
      {{"PMI_RANK", "0"}, {"PMI_SIZE", "4"}, {"MPI_LOCALNRANKS", "2"}, {"MASTER_ADDR", "a"}, {"MASTER_PORT", "1"}},
      "MPICH 0/4 local 0 at a:578");
  check_place({{"SLURM_PROCID", "5"},
               {"SLURM_STEP_NUM_TASKS", "16"},
               {"SLURM_NTASKS", "32"},
               {"SLURM_LOCALID", "1"},
               {"SLURM_STEP_ID", "0"},
               {"SLURM_STEP_NODELIST", "gpu[03-04,9],cpu1"},
               {"GSD_SWEEP_PORT", "7000"}},
              "Slurm 5/16 local 1 at gpu03:7000");
}

TEST_CASE("torchrun below Slurm is torchrun") {
  check_place({{"RANK", "0"},
               {"WORLD_SIZE", "2"},
               {"MASTER_ADDR", "h"},
               {"MASTER_PORT", "65500"},
               {"SLURM_PROCID", "0"},
               {"SLURM_NTASKS", "1"}},
              "torchrun 0/2 local 0 at h:64923");  // the offset goes down where there is no room above
}

TEST_CASE("without a port, ranks of one job meet at one and other jobs at others") {
  const auto port = [](const char* rank, const char* job) {
    const Result<LaunchPlace> place = place_from({{"SLURM_PROCID", rank},
                                                  {"SLURM_NTASKS", "2"},
                                                  {"SLURM_STEP_ID", "0"},
                                                  {"SLURM_STEP_NODELIST", "n1"},
                                                  {"SLURM_JOB_ID", job}});
    REQUIRE(place);
    return place->port;
  };
  CHECK(port("0", "4711") == port("1", "4711"));
  CHECK(port("0", "4711") != port("0", "4712"));
  CHECK(port("0", "4711") >= 20000);
  CHECK(port("0", "4711") < 30000);
}

TEST_CASE("what cannot be a sweep is refused with the reason") {
  CHECK(refusal({}) == "a sweep needs two ranks or more: and no launcher's variables are set here");
  CHECK(refusal({{"RANK", "0"}, {"WORLD_SIZE", "1"}, {"MASTER_ADDR", "h"}}) ==
        "a sweep needs two ranks or more: one rank sends nothing over the fabric: its times are of copies");
  CHECK(refusal({{"RANK", "0"}}) == "cannot read the variable WORLD_SIZE: it is not set");
  CHECK(refusal({{"RANK", "two"}, {"WORLD_SIZE", "2"}}) ==
        "cannot read the variable RANK: \"two\" is no number from 0 to 1");
  CHECK(refusal({{"RANK", "2"}, {"WORLD_SIZE", "2"}}) ==
        "cannot read the variable RANK: \"2\" is no number from 0 to 1");
  CHECK(refusal({{"RANK", "0"}, {"WORLD_SIZE", "-2"}}) ==
        "cannot read the variable WORLD_SIZE: \"-2\" is no number from 1 to 65536");
  CHECK(refusal({{"RANK", "0"}, {"WORLD_SIZE", "2"}, {"MASTER_ADDR", "h"}, {"MASTER_PORT", "0"}}) ==
        "cannot read the variable MASTER_PORT: \"0\" is no number from 1 to 65535");
  CHECK(refusal({{"OMPI_COMM_WORLD_RANK", "0"}, {"OMPI_COMM_WORLD_SIZE", "4"}, {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"}}) ==
        "cannot tell where rank 0 is: Open MPI: does not say on which host");
  CHECK(refusal({{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "4"}}) ==
        "a sweep needs two ranks or more: and this is a batch script's one process");
}

TEST_CASE("the first host of Slurm's list") {
  CHECK(first_host("node1") == "node1");
  CHECK(first_host("node1,node2") == "node1");
  CHECK(first_host("node[3-7]") == "node3");
  CHECK(first_host("node[003,009]-ib,x") == "node003-ib");
  CHECK(first_host("rack[1-2]n[4-5]") == "rack1n4");
  CHECK(first_host("").empty());
  CHECK(first_host("node[3-7").empty());
}

}  // namespace gradsync
