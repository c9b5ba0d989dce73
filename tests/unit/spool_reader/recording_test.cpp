#include "src/spool_reader/recording.h"

#include <doctest/doctest.h>

#include <fstream>

#include "src/spool_writer/gsd.h"
#include "tests/support/sinks.h"
#include "tests/unit/spool_reader/written_spool.h"

using namespace gradsync;
using test::WrittenSpool;
namespace fs = std::filesystem;

namespace {

void put(const fs::path& path, const std::string& text) {
  fs::create_directories(path.parent_path());
  std::ofstream(path) << text;
}

}  // namespace

TEST_CASE("the parts of a recording are listed, with hosts that hold dashes") {
  const WrittenSpool written([] { gsd_fact("rank", "0"); });
  put(written.folder() / "hello" / "node-a-7-12.json",
      R"({"pid": 12, "ppid": 3, "executable": "/usr/bin/python3", "argv": ["x.py"], "python": "3.11", "rank": "1", "world_size": 2})");
  put(written.folder() / "hello" / "broken-1.json", "{");
  put(written.folder() / "windows" / "node-a-7-12-0.json", "[]");
  put(written.folder() / "windows" / "README", "");
  const auto folder = open_recording_folder(written.folder());
  REQUIRE(folder);
  CHECK(folder->spools.size() == 1);
  REQUIRE(folder->hellos.size() == 1);
  CHECK(folder->hellos[0].host == "node-a-7");
  CHECK(folder->hellos[0].rank == 1);
  CHECK(folder->hellos[0].world_size == 2);
  REQUIRE(folder->windows.size() == 1);
  CHECK(folder->windows[0].host == "node-a-7");
  CHECK(folder->windows[0].pid == 12);
}

TEST_CASE("one unreadable spool is coverage, the others are read") {
  const WrittenSpool written([] { gsd_event(GSD_WHAT(17, 0, 1, 0, 0), 0, 0, 5, 5); });
  put(written.folder() / "events" / "other-9.spool", "not a spool");
  const auto folder = open_recording_folder(written.folder());
  REQUIRE(folder);
  test::CountingSink sink;
  const std::vector<Coverage> coverage = read_spools(*folder, sink);
  CHECK(sink.processes == 1);
  CHECK(sink.events == 1);
  REQUIRE(coverage.size() == 1);
  CHECK(coverage[0].state == CoverageState::unavailable);
  CHECK(coverage[0].reason.find("only 11 bytes long") != std::string::npos);
}

TEST_CASE("what is no recording is said to be none") {
  CHECK(open_recording_folder("/nonexistent").error().why == "it does not exist");
  CHECK(open_recording_folder("/usr").error().why == "no events folder and no recording.json in it");
  CHECK_FALSE(is_recording("/etc/passwd"));
}
