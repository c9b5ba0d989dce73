#include "collectors/import/nccl_lines.h"

#include <doctest/doctest.h>

#include "tests/unit/import/trace_files.h"

namespace gradsync {
namespace {

std::vector<std::string> lines_of(const std::string& bytes) {
  const test::TraceFile file(bytes, "some.log");
  Result<ByteSource> source = ByteSource::open(file.path());
  REQUIRE(source);
  LineReader reader(std::move(*source));
  std::vector<std::string> lines;
  while (const auto line = reader.next()) lines.emplace_back(*line);
  return lines;
}

}  // namespace

TEST_CASE("lines are read whole, the last one also without its end") {
  CHECK(lines_of("a\n\nbc").size() == 3);
  CHECK(lines_of("a\n\nbc").back() == "bc");
  CHECK(lines_of("\n").size() == 1);
  CHECK(lines_of(test::gzip("one\ntwo\n")) == std::vector<std::string>{"one", "two"});
  std::string many;
  for (int i = 0; i < 100000; ++i) many += "line " + std::to_string(i) + "\n";
  const std::vector<std::string> lines = lines_of(many);
  REQUIRE(lines.size() == 100000);
  CHECK(lines[77777] == "line 77777");
}

TEST_CASE("a line without end costs no more memory than its beginning, and the next one is whole") {
  for (const std::size_t length : {std::size_t{1} << 16, (std::size_t{1} << 16) + 1, std::size_t{3000000}}) {
    CAPTURE(length);
    const std::vector<std::string> lines = lines_of("before\n" + std::string(length, 'x') + "\nafter\nlast");
    REQUIRE(lines.size() == 4);
    CHECK(lines[0] == "before");
    CHECK(lines[1] == std::string(std::min(length, LineReader::kLongestLine), 'x'));
    CHECK(lines[2] == "after");
    CHECK(lines[3] == "last");
  }
  CHECK(lines_of(std::string(1000000, 'y')).size() == 1);
}

TEST_CASE("the launcher's tag is taken off") {
  struct Case {
    const char *line, *expected;
  };
  for (const Case& c :
       {Case{"[1,0]<stdout>:# nThread 1", "# nThread 1"}, Case{"[1,12]<stderr>: text", " text"},
        Case{"[prterun-a-1@1,3]<stdout>: 8 2", " 8 2"}, Case{"3: 8 2 float", "8 2 float"}, Case{" 12: # x", "# x"},
        Case{"[default7]:a", "a"}, Case{"[rank0]:a\r", "a"}, Case{"[0] GPU", "[0] GPU"},
        Case{"  8  2  float", "  8  2  float"}, Case{"", ""}, Case{"a:1: b", "a:1: b"}})
    CHECK(without_launcher_tag(c.line) == c.expected);
}

TEST_CASE("a line of NCCL is known by its process, wherever in the line it begins") {
  const auto info = find_nccl_line("node3:25:71 [0] NCCL INFO Using network IB");
  REQUIRE(info);
  CHECK(info->before == "");
  CHECK(info->host == "node3");
  CHECK(info->level == "INFO");
  CHECK(info->text == "Using network IB");

  const auto warning = find_nccl_line("[2026-01-02 10:00:00] node3:25:71 [0] misc/socket.cc:42 NCCL WARN it is odd");
  REQUIRE(warning);
  CHECK(warning->level == "WARN");
  CHECK(warning->host == "node3");

  const auto glued = find_nccl_line("  8  2  float  sum  -1node3:25:71 [1] NCCL INFO AllReduce: opCount 0");
  REQUIRE(glued);
  CHECK(glued->before == "  8  2  float  sum  ");
  CHECK(glued->host == "-1node3");

  const auto stamped = find_nccl_line("  8  2  float  sum  -1[2026-01-02 10:00:00.125] node3:25:71 [1] NCCL INFO x");
  REQUIRE(stamped);
  CHECK(stamped->before == "  8  2  float  sum  -1");
  CHECK(stamped->host == "node3");

  for (const char* text : {"Set NCCL_DEBUG=INFO to see more", "the line NCCL INFO means nothing", "[0] NCCL INFO x",
                           "a:b:c [0] NCCL INFO x", "a:1:2 [x] NCCL INFO x", "a:1:2 [0] NCCL FOO x", " NCCL INFO "})
    CHECK_FALSE(find_nccl_line(text));
}

TEST_CASE("versions") {
  CHECK(nccl_version_in("NCCL version 2.27.7+cuda13.0") == "2.27.7+cuda13.0");
  CHECK(nccl_version_in("RCCL version : 2.22.3-HEAD") == "2.22.3-HEAD");
  CHECK(nccl_version_in("NCCL version unknown").empty());
  CHECK(nccl_version_in("the NCCL versions differ").empty());
  CHECK(nccl_version_from(22807) == "2.28.7");
  CHECK(nccl_version_from(2708) == "2.7.8");
  CHECK(nccl_version_from(0).empty());
}

}  // namespace gradsync
