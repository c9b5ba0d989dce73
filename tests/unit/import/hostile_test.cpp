// The importer on files that are cut, compressed and cut, damaged or made of bytes at random: what is complete is
// there, what is not is counted, nothing ends the program.
#include <doctest/doctest.h>

#include <algorithm>
#include <random>

#include "collectors/import/kineto.h"
#include "tests/unit/import/trace_files.h"

namespace gradsync {
namespace {

std::string kineto_event(int i) {
  return R"({"ph": "X", "cat": "kernel", "name": "kernel_)" + std::to_string(i % 10) +
         R"(", "pid": 0, "tid": 7, "ts": )" + std::to_string(1000 + i) +
         R"(.125, "dur": 0.5, "args": {"stream": 7, "correlation": )" + std::to_string(i) +
         R"(, "grid": [1, 1, 1], "list": [{"a": 1}, {"b": 2}]}})";
}

std::string kineto_trace(int events) {
  std::string text = "{\n\"schemaVersion\": 1,\n\"traceEvents\": [\n";
  for (int i = 0; i < events; ++i) text += (i == 0 ? "" : ",\n") + kineto_event(i);
  return text + "\n],\n\"distributedInfo\": {\"rank\": 3, \"world_size\": 4},\n\"traceName\": \"x\"}\n";
}

struct Imported {
  Result<ImportStats> stats;
  test::KeptEvents sink;
};

Imported import(std::string_view bytes) {
  const test::TraceFile file(bytes);
  test::KeptEvents sink;
  ImportOptions options;
  options.process = ProcessInfo{};
  Result<ImportStats> stats = import_kineto(file.path(), options, sink);
  return {std::move(stats), std::move(sink)};
}

// The kernels are the first ones of the trace, complete and in order.
void check_is_beginning(const test::KeptEvents& sink) {
  std::uint64_t expected = 0;
  for (const Event& event : sink.of(Kind::kernel)) {
    REQUIRE(event.correlation == expected);
    REQUIRE(event.start == (1000 + static_cast<Nanoseconds>(expected)) * 1000 + 125);
    ++expected;
  }
}

}  // namespace

TEST_CASE("cut at 20 random bytes") {
  const std::string text = kineto_trace(400);
  const std::size_t list = text.find('['), list_end = text.rfind(']');
  std::mt19937 random(20);
  for (int i = 0; i < 20; ++i) {
    const std::size_t length = std::uniform_int_distribution<std::size_t>(0, text.size() - 3)(random);
    CAPTURE(length);
    const Imported got = import(std::string_view(text).substr(0, length));
    if (length <= list) {
      CHECK_FALSE(got.stats);
      continue;
    }
    REQUIRE(got.stats);
    check_is_beginning(got.sink);
    CHECK(got.stats->cut == (length <= list_end));
    CHECK(got.sink.of(Kind::loss).size() == (length <= list_end ? 1 : 0));
    CHECK(got.stats->lost == (length <= list_end ? 1 : 0));
    const std::size_t whole = (length - list) * 400 / (list_end - list);
    CHECK(got.sink.of(Kind::kernel).size() + 2 >= whole);
  }
}

TEST_CASE("compressed and cut at 20 random bytes") {
  const std::string bytes = test::gzip(kineto_trace(3'000));
  std::mt19937 random(21);
  std::size_t most = 0;
  for (int i = 0; i < 20; ++i) {
    const std::size_t length = std::uniform_int_distribution<std::size_t>(2, bytes.size() - 1)(random);
    CAPTURE(length);
    const Imported got = import(std::string_view(bytes).substr(0, length));
    if (!got.stats) continue;  // not even the beginning of the list
    check_is_beginning(got.sink);
    most = std::max(most, got.sink.of(Kind::kernel).size());
    if (!got.stats->cut) continue;  // only the trailer is missing
    CHECK(got.stats->loss_reason == "the trace ends in the middle of its events, its compressed bytes end too early");
  }
  CHECK(most > 1'000);
}

TEST_CASE("a compressed file whose check sum is wrong") {
  std::string bytes = test::gzip(kineto_trace(300));
  bytes[bytes.size() - 6] ^= 1;
  const Imported got = import(bytes);
  REQUIRE(got.stats);
  CHECK(got.stats->count(Kind::kernel) == 300);
  CHECK(got.stats->loss_reason == "the trace's file is damaged, its compressed bytes are damaged");
  CHECK(got.stats->lost == 1);
}

TEST_CASE("a whole file, plain and compressed") {
  for (const std::string& bytes : {kineto_trace(3'000), test::gzip(kineto_trace(3'000))}) {
    const Imported got = import(bytes);
    REQUIRE(got.stats);
    check_is_beginning(got.sink);
    CHECK(got.stats->count(Kind::kernel) == 3'000);
    CHECK(got.stats->lost == 0);
    CHECK(got.stats->rank.rank == 3);
    CHECK(got.sink.facts.at("world_size") == "4");
  }
}

TEST_CASE("bytes overwritten at random: never more than was there, and the count of losses says so") {
  const std::string text = kineto_trace(300);
  std::mt19937 random(22);
  const std::string bytes = "\"{}[],:\\\n\xff 0a";
  for (int round = 0; round < 150; ++round) {
    CAPTURE(round);
    std::string damaged = text;
    const int hits = 1 + static_cast<int>(random() % 5);
    for (int i = 0; i < hits; ++i) damaged[random() % damaged.size()] = bytes[random() % bytes.size()];
    const Imported got = import(damaged);
    if (!got.stats) continue;  // its beginning was hit
    const std::size_t kernels = got.sink.of(Kind::kernel).size();
    CHECK(kernels <= 300);
    // Damage is local. A closing bracket or brace at the wrong place may end the list, but says so or leaves a gap.
    if (got.stats->lost == 0 && !got.stats->cut) CHECK(kernels + got.stats->malformed + 40 >= 300);
  }
}

TEST_CASE("random bytes behind a beginning that looks right") {
  std::mt19937 random(23);
  const std::string alphabet = "{}[]\",:\\ \n01ab\xc3\xff";
  for (int round = 0; round < 150; ++round) {
    std::string text = R"([{"ph": "X", "name": "a", "ts": 1, "dur": 1, "pid": 1, "tid": 1}, )";
    const std::size_t length = random() % 3'000;
    for (std::size_t i = 0; i < length; ++i) text += alphabet[random() % alphabet.size()];
    const Imported got = import(text);
    REQUIRE(got.stats);
    CHECK(got.stats->count(Kind::range) >= 1);
  }
}

TEST_CASE("deep nesting inside an event and instead of one") {
  const std::string deep = std::string(100'000, '[') + std::string(100'000, ']');
  const std::string event =
      R"({"ph": "X", "name": "a", "ts": 1, "dur": 1, "pid": 1, "tid": 1, "args": {"Input Dims": )" + deep +
      R"(, "x": )" + deep + "}}";
  const Imported got = import("[" + event + ", " + deep + ", " + event + "]");
  REQUIRE(got.stats);
  CHECK(got.stats->count(Kind::range) == 2);
  CHECK(got.stats->lost == 0);
}

TEST_CASE("an event of three megabytes") {
  const std::string event = R"({"ph": "X", "cat": "python_function", "name": ")" + std::string(3 << 20, 'n') +
                            R"(", "ts": 1, "dur": 1, "pid": 1, "tid": 1, "args": {}})";
  const Imported got = import("[" + kineto_event(0) + ", " + event + ", " + kineto_event(1) + "]");
  REQUIRE(got.stats);
  CHECK(got.stats->count(Kind::kernel) == 2);
  CHECK(got.stats->count(Kind::range) == 1);
}

TEST_CASE("names that are not UTF-8 are kept, with question marks") {
  const Imported got =
      import("[" + kineto_event(0) +
             ", {\"ph\": \"X\", \"name\": \"caf\xe9\", \"ts\": 1, \"dur\": 1, \"pid\": 1, \"tid\": 1}, " +
             kineto_event(1) + "]");
  REQUIRE(got.stats);
  CHECK(got.stats->repaired == 1);
  CHECK(got.sink.name(got.sink.of(Kind::range).at(0).name) == "caf?");
  CHECK(got.stats->count(Kind::kernel) == 2);
}

TEST_CASE("broken events are one loss event that says how many") {
  const Imported got =
      import("[" + kineto_event(0) + ", {\"ph\" \"X\"}, " + kineto_event(1) + ", {oops}, " + kineto_event(2) + "]");
  REQUIRE(got.stats);
  CHECK(got.stats->count(Kind::kernel) == 3);
  CHECK(got.stats->lost == 2);
  REQUIRE(got.sink.of(Kind::loss).size() == 1);
  const Event loss = got.sink.of(Kind::loss).front();
  CHECK(got.sink.name(loss.name) == "events of the trace are not valid JSON");
  CHECK(loss.bytes == 2);
}

}  // namespace gradsync
