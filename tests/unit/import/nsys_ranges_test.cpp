// NVTX in an export: ranges, operators, NCCL's calls and what they say about the kernels they launch.
#include <doctest/doctest.h>

#include "tests/unit/import/nsys_files.h"

namespace gradsync {
namespace {

using test::import_sql;
using Lines = std::vector<std::string>;

std::string hex(std::uint64_t value, int bytes) {
  std::string text;
  for (int i = 0; i < bytes; ++i, value >>= 8) {
    text += "0123456789abcdef"[value >> 4 & 15];
    text += "0123456789abcdef"[value & 15];
  }
  return text;
}

// Schema 22 of domain 1: communicator at 0, size at 8.
std::string payload(std::uint64_t communicator, std::uint64_t bytes) {
  return "x'" + hex(1, 4) + hex(0, 4) + hex(22, 4) + hex(0, 4) + hex(16, 8) + hex(48, 8) + hex(communicator, 8) +
         hex(bytes, 8) + "'";
}

const std::string kSchema =
    "CREATE TABLE NVTX_PAYLOAD_SCHEMA_ENTRIES (domainId INTEGER, schemaId INTEGER, idx INTEGER, type INTEGER,"
    " name TEXT, offset INTEGER);"
    "INSERT INTO NVTX_PAYLOAD_SCHEMA_ENTRIES VALUES (1, 22, 0, 18, 'NCCL communicator ID', NULL),"
    " (1, 22, 1, 22, 'Message size [bytes]', 8);";

std::string range(int start, int end, const std::string& text, const std::string& binary = "NULL",
                  const std::string& rest = "NULL, NULL, NULL") {
  return "INSERT INTO NVTX_EVENTS VALUES (" + std::to_string(start) + ", " + std::to_string(end) + ", 59, NULL, '" +
         text + "', " + test::thread(7, 9) + ", NULL, 1, " + rest + ", " + binary + ");";
}

std::string launch(int start, int correlation) {
  return "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (" + std::to_string(start) + ", " + std::to_string(start + 1) +
         ", 1, " + test::thread(7, 9) + ", " + std::to_string(correlation) + ", 2, 0);";
}

std::string kernel(int start, int correlation, int name) {
  return "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (" + std::to_string(start) + ", " + std::to_string(start + 90) +
         ", 0, 7, " + std::to_string(correlation) + ", " + test::process(7) + ", " + std::to_string(name) +
         ", NULL, NULL);";
}

std::string tables() {
  return test::nsys_tables() + kSchema +
         test::nsys_strings({"1 ncclDevKernel_AllReduce_Sum_f32_RING_LL()", "2 cuLaunchKernelEx",
                             "3 ncclDevKernel_SendRecv()", "4 ncclDevKernel_Generic()", "5 gemm"});
}

Lines collectives(const test::ImportedExport& got) {
  REQUIRE(got.result);
  Lines lines;
  for (const Event& event : got.sink.ranks.at(0).of(Kind::collective)) {
    std::string line = got.sink.ranks.at(0).line(event);
    lines.push_back(line.substr(0, line.find(" kernel=")));
  }
  return lines;
}

}  // namespace

TEST_CASE("an NCCL kernel gets size and communicator from the call that launched it") {
  const auto got = import_sql(tables() + range(100, 200, "ncclAllReduce", payload(0xabc, 4096)) + launch(150, 31) +
                              kernel(1000, 31, 1) + range(300, 400, "ncclAllReduce", payload(0xabc, 512)) +
                              launch(350, 32) + kernel(2000, 32, 4) + kernel(3000, 99, 1));
  CHECK(collectives(got) ==
        Lines{"collective all_reduce 1000..1090 lane=s7 correlation=31 bytes=4096 group=0000000000000abc",
              "collective all_reduce 2000..2090 lane=s7 correlation=32 bytes=512 group=0000000000000abc",
              "collective all_reduce 3000..3090 lane=s7 correlation=99"});
  for (const Event& event : got.sink.ranks[0].of(Kind::range)) CHECK(event.source == Source::nccl_nvtx);
}

TEST_CASE("a group that launches one kernel gives it what it sends; one that launches several says nothing") {
  const std::string group = range(100, 110, "ncclGroupStart") + range(120, 130, "ncclSend", payload(5, 100)) +
                            range(140, 150, "ncclRecv", payload(5, 700)) + range(160, 170, "ncclSend", payload(5, 30)) +
                            range(200, 300, "ncclGroupEnd");
  CHECK(collectives(import_sql(tables() + group + launch(250, 31) + kernel(1000, 31, 3))) ==
        Lines{"collective send_recv 1000..1090 lane=s7 correlation=31 bytes=130 group=0000000000000005"});
  CHECK(collectives(import_sql(tables() + group + launch(250, 31) + launch(260, 32) + kernel(1000, 31, 3))) ==
        Lines{"collective send_recv 1000..1090 lane=s7 correlation=31"});
}

TEST_CASE("payloads that are too short, unknown or in JSON") {
  const auto bytes_of = [](const std::string& binary, const std::string& rest) {
    const auto got =
        import_sql(tables() + range(100, 200, "ncclAllReduce", binary, rest) + launch(150, 31) + kernel(1000, 31, 1));
    REQUIRE(got.result);
    return got.sink.ranks.at(0).of(Kind::collective).at(0).bytes;
  };
  const std::string none = "NULL, NULL, NULL";
  CHECK(bytes_of(payload(1, 64), none) == 64);
  CHECK(bytes_of(payload(1, 64).substr(0, 80) + "'", none) == 0);
  CHECK(bytes_of("x'01'", none) == 0);
  CHECK(bytes_of("'text'", none) == 0);
  CHECK(bytes_of(payload(1, 0xffffffffffffffff), none) == 0);
  CHECK(bytes_of("NULL", R"(NULL, NULL, '{"Message size [bytes]": 72}')") == 72);
  CHECK(bytes_of("NULL", R"(NULL, NULL, '{"Message size [bytes]": "many"}')") == 0);
}

TEST_CASE("without kernels NCCL's ranges are the collectives, marked as calls") {
  const auto got = import_sql(tables() + range(100, 200, "ncclAllReduce", payload(0xabc, 4096)) +
                              range(300, 400, "ncclGroupEnd") + range(500, 600, "step 1"));
  REQUIRE(got.result);
  CHECK(got.sink.ranks.at(0).lines() ==
        Lines{"collective all_reduce 100..200 lane=0 bytes=4096 group=0000000000000abc flags=2",
              "range ncclGroupEnd 300..400 lane=0", "range step 1 500..600 lane=0"});
  CHECK(got.result->coverage.state == CoverageState::partial);
  CHECK(got.result->coverage.reason == "it holds NVTX ranges and no GPU kernels");
  CHECK_FALSE(got.sink.ranks[0].facts.contains("device"));
}

TEST_CASE("operators of emit_nvtx lose their numbers and are the profiler's, not the author's ranges") {
  const auto got = import_sql(tables() + kernel(1000, 31, 5) + range(1, 2, "aten::mm, seq = 7, op_id = 12") +
                              range(3, 4, "aten::mm, op_id = 13") + range(5, 6, "aten::mm"));
  REQUIRE(got.result);
  const auto ranges = got.sink.ranks.at(0).of(Kind::range);
  REQUIRE(ranges.size() == 3);
  for (const Event& event : ranges) CHECK(got.sink.ranks[0].name(event.name) == "aten::mm");
  CHECK(ranges[0].source == Source::profiler);
  CHECK(ranges[1].source == Source::profiler);
  CHECK(ranges[2].source == Source::nvtx);
}

TEST_CASE("domains, categories and payloads are attributes; a range may be open; a mark is an instant") {
  const std::string who = test::thread(7, 9);
  const auto got = import_sql(tables() + kernel(1000, 31, 5) + test::nsys_strings({"9 load"}) +
                              "INSERT INTO NVTX_EVENTS VALUES (10, 20, 60, 3, NULL, " + who +
                              ", 9, 2, 77, NULL, NULL, NULL),"
                              "(30, NULL, 59, 4, 'open', " +
                              who +
                              ", NULL, 0, NULL, NULL, NULL, NULL),"
                              "(40, NULL, 34, NULL, 'mark', " +
                              who +
                              ", NULL, 0, NULL, 0.5, NULL, NULL),"
                              "(0, NULL, 75, NULL, 'loader', " +
                              who +
                              ", NULL, 2, NULL, NULL, NULL, NULL),"
                              "(0, NULL, 33, 3, 'disk', " +
                              who + ", NULL, 2, NULL, NULL, NULL, NULL);");
  REQUIRE(got.result);
  Lines lines = got.sink.ranks.at(0).lines();
  lines.resize(3);
  CHECK(lines == Lines{"range load 10..20 lane=0 category=disk domain=loader payload=77",
                       "range open 30..0 lane=0 category=4",
                       "mark mark 40..40 lane=0 payload.float64=4602678819172646912"});
}

}  // namespace gradsync
