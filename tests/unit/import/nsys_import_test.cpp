#include <doctest/doctest.h>

#include <algorithm>

#include "collectors/import/nsys_format.h"
#include "collectors/import/recognise.h"
#include "tests/unit/import/nsys_files.h"

namespace gradsync {
namespace {

using test::import_sql;
using Lines = std::vector<std::string>;

std::string small_job() {
  return test::nsys_tables() +
         test::nsys_strings({"1 void gemm<float>(float*)", "2 cudaLaunchKernel_v7000",
                             "3 ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgs)",
                             "4 cudaStreamSynchronize_v3020", "5 pt_main"}) +
         "INSERT INTO NVTX_EVENTS VALUES (0, 1000, 59, NULL, 'iteration 0', " + test::thread(7, 9) +
         ", NULL, 0, NULL, NULL, NULL, NULL);"
         "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (10, 20, 1, " +
         test::thread(7, 9) +
         ", 41, 2, 0);"
         "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (30, 900, 1, " +
         test::thread(7, 9) +
         ", 42, 4, 0);"
         "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (100, 200, 0, 7, 41, " +
         test::process(7) +
         ", 1, 1, 1);"
         "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (150, 800, 0, 20, 43, " +
         test::process(7) +
         ", 3, 3, 3);"
         "INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (810, 820, 0, 7, 44, " +
         test::process(7) +
         ", 4096, 1);"
         "INSERT INTO CUPTI_ACTIVITY_KIND_MEMSET VALUES (830, 840, 0, 7, 45, " +
         test::process(7) +
         ", 0, 512);"
         "INSERT INTO ThreadNames VALUES (5, 0, " +
         test::thread(7, 9) + ");";
}

}  // namespace

TEST_CASE("the tables of an export become events of one rank") {
  const auto got = import_sql(small_job());
  REQUIRE(got.result);
  CHECK(got.result->coverage.state == CoverageState::collected);
  REQUIRE(got.sink.ranks.size() == 1);
  const test::KeptEvents& rank = got.sink.ranks[0];
  CHECK(rank.lines() == Lines{"range iteration 0 0..1000 lane=0",
                              "host_call cudaLaunchKernel_v7000 10..20 lane=0 correlation=41",
                              "host_sync cudaStreamSynchronize_v3020 30..900 lane=0 correlation=42",
                              "kernel void gemm<float>(float*) 100..200 lane=s7 correlation=41",
                              "collective all_reduce 150..800 lane=s20 correlation=43 "
                              "kernel=ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgs) op=sum",
                              "copy Memcpy Host-to-Device 810..820 lane=s7 correlation=44 bytes=4096",
                              "memset Memset 830..840 lane=s7 correlation=45 bytes=512"});
  CHECK(rank.lanes == std::map<std::string, std::string>{{"0", "pt_main"}, {"s20", "stream 20"}, {"s7", "stream 7"}});
  CHECK(rank.facts == std::map<std::string, std::string>{{"backend", "nccl"}, {"device", "cuda"}});
  CHECK(rank.processes.at(0).host == "trace");
  CHECK(rank.processes.at(0).pid == 100);
  CHECK(rank.events.front().source == Source::nvtx);
  CHECK(rank.events.at(3).source == Source::profiler);
}

TEST_CASE("the order of rows and columns means nothing, and columns may be missing") {
  const auto got = import_sql(
      "CREATE TABLE META_DATA_EXPORT (name TEXT, value TEXT);"
      "CREATE TABLE StringIds (value TEXT, id INTEGER);"  // not a key
      "INSERT INTO StringIds VALUES ('gemm', 8), ('cudaLaunchKernel', 9);"
      "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (shortName INTEGER, streamId INTEGER, correlationId INTEGER, end "
      "INTEGER,"
      "  start INTEGER);"
      "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (8, 7, 2, 400, 300), (8, 7, 1, 200, 100);"
      "CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER, end INTEGER, globalTid INTEGER, correlationId INTEGER,"
      "  nameId INTEGER);"
      "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (10, 20, 5, 1, 9);");
  REQUIRE(got.result);
  REQUIRE(got.sink.ranks.size() == 1);
  CHECK(got.sink.ranks[0].lines() == Lines{"host_call cudaLaunchKernel 10..20 lane=0 correlation=1",
                                           "kernel gemm 300..400 lane=s7 correlation=2",
                                           "kernel gemm 100..200 lane=s7 correlation=1"});
  CHECK(got.sink.ranks[0].facts.at("device") == "cuda");
  CHECK(got.result->coverage.reason == "no communication was seen: it holds no NCCL kernels and no NCCL ranges");
}

TEST_CASE("each process with kernels is a rank; one with several devices is one for each") {
  const auto kernel = [](int pid, int device, int correlation) {
    return "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (" + std::to_string(100 * correlation) + ", " +
           std::to_string(100 * correlation + 50) + ", " + std::to_string(device) + ", 7, " +
           std::to_string(correlation) + ", " + test::process(pid) + ", 1, 1, 1);";
  };
  const auto call = [](int pid, int tid, int correlation) {
    return "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (10, 20, 1, " + test::thread(pid, tid) + ", " +
           std::to_string(correlation) + ", 2, 0);";
  };
  // Process 5 has one device; process 6 drives two, each from a thread of its own; process 4 only reads files.
  const auto got = import_sql(test::nsys_tables() + test::nsys_strings({"1 gemm", "2 cudaLaunchKernel"}) +
                              kernel(6, 1, 3) + kernel(5, 0, 1) + kernel(6, 2, 4) + call(5, 50, 1) + call(6, 61, 3) +
                              call(6, 62, 4) + call(6, 63, 9) + call(4, 40, 1));
  REQUIRE(got.result);
  CHECK(got.result->processes == 3);
  CHECK(got.result->ranks == "none, by order of process and device (3)");
  REQUIRE(got.sink.ranks.size() == 3);
  CHECK(got.sink.ranks[0].lines() ==
        Lines{"host_call cudaLaunchKernel 10..20 lane=0 correlation=1", "kernel gemm 100..150 lane=s7 correlation=1"});
  CHECK(got.sink.ranks[1].lines() == Lines{"host_call cudaLaunchKernel 10..20 lane=0 correlation=3",
                                           "host_call cudaLaunchKernel 10..20 lane=1 correlation=9",
                                           "kernel gemm 300..350 lane=s7 correlation=3"});
  CHECK(got.sink.ranks[2].lines() == Lines{"host_call cudaLaunchKernel 10..20 lane=0 correlation=4",
                                           "host_call cudaLaunchKernel 10..20 lane=1 correlation=9",
                                           "kernel gemm 400..450 lane=s7 correlation=4"});
  CHECK(got.sink.ranks[2].processes.at(0).pid == 102);
}

TEST_CASE("the rank of a file with one: by the environment that nsys recorded, else by the file's name") {
  const std::string environment =
      "CREATE TABLE META_DATA_CAPTURE (name TEXT, value TEXT); INSERT INTO META_DATA_CAPTURE VALUES"
      "('PROCESS_0:ENVIRONMENT_VARIABLE', 'LOCAL_RANK=\"1\"'), ('PROCESS_0:ENVIRONMENT_VARIABLE', 'RANK=\"9\"'),"
      "('PROCESS_0:ENVIRONMENT_VARIABLE', 'WORLD_SIZE=\"16\"');";
  const test::NsysFile told(small_job() + environment, "report_rank3.sqlite");
  const auto by_environment = test::import_export(told.path());
  CHECK(by_environment.result->ranks == "9 (RANK in the export)");
  CHECK(by_environment.sink.ranks[0].facts.at("rank") == "9");
  CHECK(by_environment.sink.ranks[0].facts.at("world_size") == "16");
  const std::string alone =
      "CREATE TABLE META_DATA_CAPTURE (name TEXT, value TEXT); INSERT INTO META_DATA_CAPTURE VALUES"
      "('PROCESS_0:ENVIRONMENT_VARIABLE', 'RANK=\"0\"'), ('PROCESS_0:ENVIRONMENT_VARIABLE', 'WORLD_SIZE=\"1\"');";
  const test::NsysFile named(small_job() + alone, "report_rank3.sqlite");
  const auto by_name = test::import_export(named.path());
  CHECK(by_name.result->ranks == "3 (file name)");
  CHECK(by_name.sink.ranks[0].facts.at("rank") == "3");
}

TEST_CASE("a synchronisation without its call is a host_sync; polling and waiting of a stream are not") {
  const std::string table = "INSERT INTO CUPTI_ACTIVITY_KIND_SYNCHRONIZATION VALUES ";
  const std::string end = ", " + test::process(7) + ", ";
  const auto got =
      import_sql(small_job() + test::nsys_strings({"6 cudaEventQuery_v3020", "7 cudaFree_v3020"}) +
                 "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (1000, 1100, 1, " + test::thread(7, 9) +
                 ", 50, 6, 0), (1200, 1300, 1, " + test::thread(7, 9) + ", 51, 7, 0);" + table + "(31, 899, 0, 7, 42" +
                 end + "3);" + table + "(1010, 1020, 0, 7, 50" + end + "1);" + table + "(1210, 1290, 0, 7, 51" + end +
                 "4);" + table + "(1400, 1500, 0, 7, 60" + end + "3);" + table + "(1600, 1700, 0, 7, 61" + end + "2);");
  REQUIRE(got.result);
  const test::KeptEvents& rank = got.sink.ranks.at(0);
  Lines syncs;
  for (const Event& event : rank.of(Kind::host_sync)) syncs.push_back(rank.line(event));
  CHECK(syncs == Lines{"host_sync cudaStreamSynchronize_v3020 30..900 lane=0 correlation=42",
                       "host_sync cudaFree_v3020 1200..1300 lane=0 correlation=51",
                       "host_sync synchronisation 1400..1500 lane=1048575 correlation=60"});
}

TEST_CASE("a CUDA graph that was recorded as a whole is a kernel, and the coverage says what it hides") {
  const auto got = import_sql(
      small_job() +
      "CREATE TABLE CUPTI_ACTIVITY_KIND_GRAPH_TRACE (start INTEGER, end INTEGER, deviceId INTEGER, streamId INTEGER,"
      " correlationId INTEGER, globalPid INTEGER, graphId INTEGER);"
      "INSERT INTO CUPTI_ACTIVITY_KIND_GRAPH_TRACE VALUES (2000, 3000, 0, 7, 70, " +
      test::process(7) + ", 1);");
  REQUIRE(got.result);
  const std::vector<Event> kernels = got.sink.ranks[0].of(Kind::kernel);
  CHECK(got.sink.ranks[0].line(kernels.back()) == "kernel CUDA graph 2000..3000 lane=s7 correlation=70");
  CHECK(got.result->coverage.state == CoverageState::partial);
  CHECK(got.result->coverage.hint == "record with nsys profile --cuda-graph-trace=node");
}

TEST_CASE("an export is known by its tables, also when their list goes on beyond the first page") {
  const test::NsysFile nsys(small_job(), "some.bin");
  const Result<Recognised> found = recognise(nsys.path());
  REQUIRE(found);
  REQUIRE(found->kind == FileKind::importable);
  CHECK(found->format->name == "Nsight Systems export");
  const test::NsysFile other("CREATE TABLE t (a); INSERT INTO t VALUES (1);");
  CHECK(recognise(other.path())->kind == FileKind::sqlite);
  std::string many = "BEGIN; CREATE TABLE blob (b); INSERT INTO blob VALUES (zeroblob(2000000));";
  for (int i = 0; i < 200; ++i) many += "CREATE TABLE t" + std::to_string(i) + " (a INTEGER, b INTEGER);";
  const test::NsysFile large(many + "COMMIT;");
  CHECK(is_nsys_export(large.bytes().substr(0, 1 << 20)));
  const auto imported = test::import_export(large.path());
  REQUIRE_FALSE(imported.result);
  CHECK(imported.result.error().why == "it is an SQLite database without the tables of Nsight Systems");
  CHECK(imported.sink.ranks.empty());
}

}  // namespace gradsync
