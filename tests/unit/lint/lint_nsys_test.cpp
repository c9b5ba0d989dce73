#include "tests/unit/lint/linted.h"

namespace gradsync {
namespace {

using Lines = std::vector<std::string>;

CommandLint nsys(const std::string& command) { return test::linted(lint_nsys, command); }

}  // namespace

TEST_CASE("a right command has no finding and stays as it is") {
  for (const char* command :
       {"nsys profile -t cuda,nvtx,osrt,nccl -s none --cpuctxsw=none --capture-range=cudaProfilerApi "
        "--capture-range-end=stop -o r%q{RANK} -f true python train.py",
        "/opt/nsys/bin/nsys profile --trace cuda --sample=process-tree -y 20 -d 10 --kill none -o out python3 -u t.py "
        "-x",
        "mpirun -np 8 nsys profile -t mpi,cuda --mpi-impl=openmpi -o r%q{OMPI_COMM_WORLD_RANK} ./app",
        "nsys profile --trace-fork-before-exec=true --cuda-graph-trace=node:on --trace=$TRACE ./app"}) {
    CAPTURE(command);
    const CommandLint lint = nsys(command);
    CHECK(test::said(lint) == Lines{});
    CHECK(lint.right.empty());
  }
}

TEST_CASE("what guides get wrong, and the right command") {
  const CommandLint lint = nsys(
      "NSYS_CUDA_TRACE=1 nsys profile -t nvtx,cuda,nvsmi --capture-range=cudaProfiler --duration60 --sample=cpu,mem "
      "--mpi-mode=openmpi --trace-fork-before-exec -o report.qdrep python train.py --lr 0.1");
  CHECK(test::said(lint) == Lines{"warning NSYS_CUDA_TRACE=1", "error -t nvsmi", "error --capture-range cudaProfiler",
                                  "error --duration60", "warning --sample cpu", "error --sample mem",
                                  "error --mpi-mode", "error --trace-fork-before-exec", "info --capture-range",
                                  "warning -o report.qdrep"});
  REQUIRE(lint.right.size() == 1);
  CHECK(lint.right[0] ==
        "nsys profile -t nvtx,cuda --capture-range=cudaProfilerApi --duration=60 --sample=process-tree "
        "--trace-fork-before-exec=true -o report --gpu-metrics-devices=all --capture-range-end=stop python train.py "
        "--lr 0.1");
  CHECK(nsys(lint.right[0]).right.empty());  // and that one is right
  REQUIRE(lint.notes.size() >= 1);
  CHECK(lint.notes[0].find("cudaProfilerStart") != std::string::npos);
}

TEST_CASE("one mistake at a time") {
  const struct {
    const char* command;
    Lines said;
    const char* right;
  } cases[] = {
      {"nsys profile --trce=cuda ./app", {"error --trce"}, "nsys profile --trace=cuda ./app"},
      {"nsys profile --xyzzy-plugh ./app", {"error --xyzzy-plugh"}, "nsys profile ./app"},
      {"nsys profile -t cudda ./app", {"error -t cudda"}, "nsys profile -t cuda ./app"},
      {"nsys profile -d ten ./app", {"error -d ten"}, nullptr},
      {"nsys -t cuda ./app", {"error nsys"}, "nsys profile -t cuda ./app"},
      {"nsys profile -t cuda", {"error nsys profile"}, nullptr},
      {"nsys profile --trace-fork-before-exec ./app -x",
       {"error --trace-fork-before-exec"},
       "nsys profile --trace-fork-before-exec=true ./app -x"},
      {"nsys profile --sample=none,system-wide ./app",
       {"error --sample none,system-wide"},
       "nsys profile --sample=none ./app"},
      {"srun -n 8 nsys profile -o all ./app",
       {"error -o all"},
       "srun -n 8 nsys profile -o all_r%q{SLURM_PROCID} ./app"},
      {"mpirun -np 2 nsys profile ./app",
       {"error nsys profile"},
       "mpirun -np 2 nsys profile -o r%q{OMPI_COMM_WORLD_RANK} ./app"},
      {"nsys profile torchrun --nproc_per_node 8 t.py", {"info torchrun"}, nullptr},
      {"nsys profile python -m torch.distributed.run t.py", {"info python"}, nullptr},
      {"nsys stats report.nsys-rep", {"info nsys stats"}, nullptr},
  };
  for (const auto& expected : cases) {
    CAPTURE(expected.command);
    const CommandLint lint = nsys(expected.command);
    CHECK(test::said(lint) == expected.said);
    CHECK((lint.right.empty() ? "" : lint.right[0]) == (expected.right == nullptr ? "" : std::string(expected.right)));
  }
}

TEST_CASE("ncu never on collectives") {
  const CommandLint named = nsys("ncu -k regex:ncclKernel_AllReduce --set full torchrun --nproc_per_node 2 t.py");
  CHECK(test::said(named) == Lines{"error -k regex:ncclKernel_AllReduce"});
  REQUIRE(named.right.size() == 1);
  CHECK(named.right[0].find("nccl") == std::string::npos);
  CHECK(test::said(nsys(named.right[0])) == Lines{});
  CHECK(test::said(nsys("ncu --kernel-name=ncclDevKernel_AllGather_RING_LL ./app")).size() == 1);
  CHECK(test::said(nsys("mpirun -np 2 ncu --set full ./app")) == Lines{"error ncu"});
  CHECK(test::said(nsys("ncu --set full ./app")) == Lines{});
}

TEST_CASE("the lint says when there is nothing to judge") {
  for (const char* command : {"", "ls -l", "nsysx profile"}) {
    const auto lint = lint_nsys(command);
    REQUIRE(!lint);
    CHECK(lint.error().exit_status == 2);
  }
}

TEST_CASE("as findings of a report the graver come first, and a right command is clean") {
  const auto findings = findings_of(nsys("nsys profile -c cudaProfiler ./app"));
  REQUIRE(findings.size() == 2);
  CHECK(findings[0].rule == "nsys-command");
  CHECK(findings[0].severity == Severity::error);
  CHECK(findings[1].severity == Severity::info);
  const auto clean = findings_of(nsys("nsys profile -o x ./app"));
  REQUIRE(clean.size() == 1);
  CHECK(clean[0].state == FindingState::clean);
}

}  // namespace gradsync
