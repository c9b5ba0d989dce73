#include "collectors/import/json_scan.h"

#include <doctest/doctest.h>

namespace gradsync {
namespace {

struct Case {
  const char* text;
  ScanState state;
  std::size_t length;
};

}  // namespace

TEST_CASE("a value ends where it ends, and a fault is seen soon") {
  constexpr auto complete = ScanState::complete;
  constexpr auto unfinished = ScanState::unfinished;
  constexpr auto broken = ScanState::broken;
  const Case cases[] = {
      {R"({"a": 1}, {"b": 2})", complete, 8},
      {R"({"a": [1, {"b": "}]"}]} x)", complete, 23},
      {R"({"a": "\"}"},)", complete, 12},
      {R"([],)", complete, 2},
      {R"("text" ,)", complete, 6},
      {R"(12.5e3,)", complete, 6},
      {R"({"occupancy": NaN, "x": Infinity})", complete, 33},
      {R"(null])", complete, 4},
      {R"({"a": 1)", unfinished, 7},
      {R"({"a": "b)", unfinished, 8},
      {R"({"a": "b\)", unfinished, 9},
      {R"(12)", unfinished, 2},
      {"", unfinished, 0},
      {R"({"a": 1, {"b": 2}})", broken, 9},    // a brace is missing: the next event where a key is due
      {R"({"a": [1}, {"b": 2}])", broken, 8},  // brackets that do not match
      {R"({"a": "b"c", "d": 1})", broken, 9},  // a stray quote: text outside of strings
      {"{\"a\": \"b\n\"}", broken, 8},         // a raw line end inside a string
      {R"(}, {"b": 2})", broken, 0},
      {R"(hello)", broken, 0},
  };
  for (const Case& c : cases) {
    CAPTURE(c.text);
    const Scan scan = scan_value(c.text);
    CHECK(scan.state == c.state);
    if (c.state == complete) CHECK(scan.length == c.length);
  }
}

TEST_CASE("deep nesting costs no stack") {
  const std::string open(200'000, '[');
  CHECK(scan_value(open).state == ScanState::unfinished);
  const Scan closed = scan_value(open + std::string(200'000, ']'));
  CHECK(closed.state == ScanState::complete);
  CHECK(closed.length == 400'000);
}

TEST_CASE("a border is a comma between braces") {
  const std::string_view text = "{\"a\": [1, 2]} ,\n {\"b\": 3}, 4, {";
  CHECK(last_border(text) == 14);
  CHECK(next_border(text, 0) == 14);
  CHECK_FALSE(next_border(text, 15));
  CHECK_FALSE(last_border("{\"a\": 1},"));  // what follows is not here yet
  CHECK_FALSE(last_border(""));
}

TEST_CASE("the list of events is found in an object and as the document") {
  struct FindCase {
    std::string text;
    ArrayStart state;
    std::size_t first;
  };
  const FindCase cases[] = {
      {R"([{"ph": "X"}])", ArrayStart::found, 1},
      {"\xef\xbb\xbf [", ArrayStart::found, 5},
      {R"({"traceEvents": [)", ArrayStart::found, 17},
      {R"({"a": {"traceEvents": []}, "b": "traceEvents", "traceEvents":[)", ArrayStart::found, 62},
      {R"({"schemaVersion": 1, "devi)", ArrayStart::need_more, 0},
      {"  ", ArrayStart::need_more, 0},
      {R"({"traceEvents": {}})", ArrayStart::none, 0},
      {R"({"a": 1})", ArrayStart::none, 0},
      {R"({a: 1})", ArrayStart::none, 0},
      {"hello", ArrayStart::none, 0},
  };
  for (const FindCase& c : cases) {
    CAPTURE(c.text);
    const EventArrayStart start = find_event_array(c.text);
    CHECK(start.state == c.state);
    CHECK(start.first == c.first);
    CHECK(start.why.empty() == (c.state != ArrayStart::none));
  }
}

}  // namespace gradsync
