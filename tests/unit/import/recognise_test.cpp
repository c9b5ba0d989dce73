#include "collectors/import/recognise.h"

#include <doctest/doctest.h>

#include "tests/unit/import/trace_files.h"

namespace gradsync {

TEST_CASE("files are known by their content, whatever their name") {
  using namespace std::string_literals;
  struct Case {
    std::string bytes;
    FileKind kind;
    const char* says;  // part of the refusal; empty = it is a trace
  };
  const std::string long_head =
      R"({"schemaVersion": 1, "distributedInfo": {"pg_config": ")" + std::string(1 << 20, 'x');
  const Case cases[] = {
      {R"({"traceEvents": []})", FileKind::importable, ""},
      {R"({"displayTimeUnit": "ns", "traceEvents": [{)", FileKind::importable, ""},
      {R"([{"name": "a", "ph": "X"}])", FileKind::importable, ""},
      {"\n[ ]", FileKind::importable, ""},
      {test::gzip(R"({"traceEvents": []})"), FileKind::importable, ""},
      {long_head, FileKind::importable, ""},
      {R"({"schema_version": 1, "tool": {"name": "gradsync-doctor"}})", FileKind::report, "it is a report"},
      {R"([1, 2, 3])", FileKind::json, "JSON without a list of trace events"},
      {R"([{"name": "a"}])", FileKind::json, "JSON without a list of trace events"},
      {R"({"a": 1})", FileKind::json, "JSON without a list of trace events"},
      {"SQLite format 3\0..."s, FileKind::sqlite, "SQLite"},
      {"GSDSPOOL....", FileKind::spool, "spool of one process"},
      {"PK\x03\x04...", FileKind::archive, "archive"},
      {test::gzip(std::string(257, '\0') + "ustar\0"s + std::string(200, '\0')), FileKind::archive, "archive"},
      {"", FileKind::empty, "it is empty"},
      {" \n", FileKind::empty, "it is empty"},
      {test::gzip(""), FileKind::empty, "it is empty"},
      {"step,ms\n1,20\n", FileKind::unknown, "of no known kind"},
      {"\x7f"s + "ELF", FileKind::unknown, "of no known kind"},
      {"{not json}", FileKind::unknown, "of no known kind"},
  };
  for (const Case& c : cases) {
    CAPTURE(c.bytes.substr(0, 60));
    const test::TraceFile file(c.bytes, "some.bin");
    const Result<Recognised> kind = recognise(file.path());
    REQUIRE(kind);
    CHECK(kind->kind == c.kind);
    const Result<void> trace = check_chrome_trace(file.path());
    CHECK(static_cast<bool>(trace) == std::string(c.says).empty());
    if (!trace) CHECK(trace.error().message().find(c.says) != std::string::npos);
  }
}

TEST_CASE("folders and missing files") {
  const test::TraceFile file("x", "recording.json");
  const std::filesystem::path recording = file.path().parent_path();
  CHECK(recognise(recording)->kind == FileKind::recording);
  CHECK(check_chrome_trace(recording).error().message().find("it is a recording") != std::string::npos);
  const test::TraceFile other("x", "x.json");
  CHECK(recognise(other.path().parent_path())->kind == FileKind::folder);
  const Result<void> missing = check_chrome_trace("/nowhere/trace.json");
  REQUIRE_FALSE(missing);
  CHECK(missing.error().message() == "cannot open /nowhere/trace.json: No such file or directory");
}

}  // namespace gradsync
