#include "collectors/import/json_windows.h"

#include <doctest/doctest.h>

#include "tests/unit/import/trace_files.h"

namespace gradsync {
namespace {

// Keeps the "id" of every accepted element.
class Ids final : public ElementVisitor {
 public:
  bool read(simdjson::ondemand::object element) override {
    last_ = -1;
    for (auto member : element) {
      simdjson::ondemand::field field;
      if (std::move(member).get(field)) return false;
      std::string_view key;
      if (field.unescaped_key().get(key)) return false;
      std::int64_t id = 0;
      if (key == "id" && !field.value().get_int64().get(id)) last_ = id;
    }
    return true;
  }
  void accept() override { ids.push_back(last_); }

  std::vector<std::int64_t> ids;

 private:
  std::int64_t last_ = -1;
};

struct Read {
  std::vector<std::int64_t> ids;
  WindowStats stats;
  std::string head, tail;
};

constexpr WindowSizes kSmall{8 << 10, 64 << 10};
constexpr std::size_t kWindow = kSmall.window_bytes;

Read read(const std::string& text) {
  const test::TraceFile file(text);
  Result<ByteSource> source = ByteSource::open(file.path());
  REQUIRE(source);
  JsonWindows windows(*source, kSmall);
  REQUIRE(windows.find_array());
  Ids ids;
  windows.for_each(ids);
  return {ids.ids, windows.stats(), windows.head(), windows.tail()};
}

// Elements 0 to count − 1, in lines of about `bytes`.
std::string elements(int count, std::size_t bytes, const std::string& content) {
  std::string text;
  for (int i = 0; i < count; ++i) {
    std::string element = "{\"id\": " + std::to_string(i) + ", " + content + "}";
    if (element.size() < bytes) element += std::string(bytes - element.size(), ' ');
    text += (i == 0 ? "" : ",\n") + element;
  }
  return text;
}

std::vector<std::int64_t> up_to(std::int64_t count) {
  std::vector<std::int64_t> ids;
  for (std::int64_t i = 0; i < count; ++i) ids.push_back(i);
  return ids;
}

}  // namespace

TEST_CASE("head, elements and tail") {
  const Read got = read(R"({"a": 1, "traceEvents": [ {"id": 7}, {"id": 8} ], "b": {"c": [2, {}, {}]} }
)");
  CHECK(got.ids == std::vector<std::int64_t>{7, 8});
  CHECK(got.head == R"({"a": 1, "":0})");
  CHECK(got.tail == R"({"":0, "b": {"c": [2, {}, {}]} })");
  CHECK(got.stats.closed);
  CHECK(got.stats.elements == 2);
  CHECK(got.stats.lost == 0);
}

TEST_CASE("several windows, each cut at a border, give every element once") {
  const std::string content = R"("args": {"grid": [8, 1, 1], "text": "a, b"})";
  for (const std::size_t bytes : {std::size_t{60}, std::size_t{500}, kWindow / 3}) {
    CAPTURE(bytes);
    const int count = static_cast<int>(3 * kWindow / bytes);
    const Read got = read("[" + elements(count, bytes, content) + "]");
    CHECK(got.ids == up_to(count));
    CHECK(got.stats.windows >= 3);
    CHECK(got.stats.slow_windows == 0);
    CHECK(got.stats.lost == 0);
    CHECK(got.stats.closed);
  }
}

TEST_CASE("borders inside events do not mislead") {
  const std::string texts[] = {
      R"("args": {"frames": [{"f": 1}, {"f": 2}, {"f": 3}, {"f": 4}, {"f": 5}]})",
      R"("text": "}, {\"id\": 5}, {", "x": 1)",
      R"("args": [[{"id": 99}, {"id": 99}], [{"a": {"b": []}}, {}]])",
  };
  for (const std::string& content : texts) {
    CAPTURE(content);
    const Read got = read("[" + elements(500, 120, content) + "]");
    CHECK(got.ids == up_to(500));
    CHECK(got.stats.lost == 0);
    CHECK(got.stats.closed);
  }
}

TEST_CASE("an event may be larger than the window") {
  const std::string large = R"({"id": 1, "text": ")" + std::string(3 * kWindow, 'x') + R"(", "list": [{}, {}]})";
  const Read got = read(R"([{"id": 0}, )" + large + R"(, {"id": 2}])");
  CHECK(got.ids == up_to(3));
  CHECK(got.stats.lost == 0);
}

TEST_CASE("an event beyond every bound is lost, its neighbours are not") {
  const std::string huge = R"({"id": 1, "text": ")" + std::string(kSmall.most_event_bytes + kWindow, 'x') + R"("})";
  const Read got = read(R"([{"id": 0}, )" + huge + R"(, {"id": 2}, {"id": 3}])");
  CHECK(got.ids.front() == 0);
  CHECK(got.ids.back() == 3);
  CHECK(got.stats.lost >= 1);
  CHECK(got.stats.closed);
}

TEST_CASE("a broken event costs itself, the rest of its window stays") {
  const std::string good = elements(200, 100, R"("x": 1)");
  const std::string broken[] = {
      R"({"id": 1 "x": 2})",                // no comma
      R"({"id": 1, "x": "a"b"})",           // a stray quote
      R"({"id": 1, "x": {"y": 2})",         // a brace is missing
      R"({"id": 1}})",                      // one too many
      "{\"id\": 1, \"x\": \"line\nend\"}",  // a raw line end in a text
      R"({"id": 1, x: 2})",
      R"({"id")",
  };
  for (const std::string& event : broken) {
    CAPTURE(event);
    const Read got = read("[" + good + ",\n" + event + ",\n" + good + "]");
    CHECK(got.stats.lost >= 1);
    CHECK(got.stats.lost <= 2);
    CHECK(got.ids.size() >= 399);  // the event behind the broken one may go with it
    CHECK(got.ids.size() <= 401);
    CHECK(got.stats.closed);
  }
}

TEST_CASE("bytes that are not UTF-8 become question marks") {
  std::string text = "[" + elements(400, 100, "\"x\": \"abc\"") + "]";
  const std::size_t middle = text.find("abc", text.size() / 2);
  text[middle] = '\xff';
  text[middle + 1] = '\xc3';
  const Read got = read(text);
  CHECK(got.ids == up_to(400));
  CHECK(got.stats.repaired == 1);
  CHECK(got.stats.slow_windows == 1);
  CHECK(got.stats.lost == 0);
}

TEST_CASE("a text that ends early gives its complete elements") {
  const std::string text = "[" + elements(400, 100, R"("args": {"list": [{"a": 1}, {"b": 2}]})") + "]";
  std::uint32_t state = 7;
  for (int i = 0; i < 20; ++i) {
    state = state * 1664525 + 1013904223;
    const std::size_t length = 2 + state % (text.size() - 3);
    CAPTURE(length);
    const Read got = read(text.substr(0, length));
    CHECK(got.ids == up_to(static_cast<std::int64_t>(got.ids.size())));
    const std::size_t whole = (length - 1) / 102;  // an element and its comma and line end
    CHECK(got.ids.size() + 1 >= whole);
    CHECK(got.ids.size() <= whole + 1);
    CHECK_FALSE(got.stats.closed);
  }
}

TEST_CASE("a bracket that is never closed costs its event, not the rest of the file") {
  const std::string good = elements(300, 50, R"("ph": "X")");
  const Read got =
      read("[" + good + R"(, {"id": 9, "x": [1, 2 }, )" + good + R"(, {"id": 9, "x": [1, {"y": 2}, )" + good + "]");
  CHECK(got.ids.size() >= 898);
  CHECK(got.stats.lost == 2);
}

TEST_CASE("elements that are not events are counted") {
  const Read got = read(R"([1, "two", null, [3, {"id": 4}], {"id": 5}, true, {}, -1e9, NaN])");
  CHECK(got.ids == std::vector<std::int64_t>{5, -1});
  CHECK(got.stats.not_objects == 7);
  CHECK(got.stats.elements == 9);
  CHECK(got.stats.closed);
}

TEST_CASE("nothing but junk ends, in time that grows with its length only") {
  const std::string junk[] = {
      "[" + std::string(3 * kWindow, '{'),         "[" + std::string(3 * kWindow, '"'),
      "[" + std::string(3 * kWindow, '['),         "[" + std::string(3 * kWindow, ','),
      "[{\"a\": " + std::string(2 * kWindow, '['), "[" + std::string(kWindow, '}') + elements(10, 50, "\"x\": 1") + "]",
  };
  for (const std::string& text : junk) {
    const Read got = read(text);
    CHECK(got.stats.elements - got.stats.not_objects <= 10);
  }
  std::string nested = "[";
  while (nested.size() < 2 * kWindow) nested += R"({"a":[{},)";
  CHECK_FALSE(read(nested).stats.closed);
}

TEST_CASE("an object with no list of events is refused") {
  for (const char* text : {R"({"a": 1})", "{", R"({"traceEvents": 5})", "x", ""}) {
    CAPTURE(text);
    const test::TraceFile file(text);
    Result<ByteSource> source = ByteSource::open(file.path());
    REQUIRE(source);
    JsonWindows windows(*source);
    CHECK_FALSE(windows.find_array());
  }
}

}  // namespace gradsync
