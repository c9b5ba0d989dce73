#include "src/spool_reader/spool_file.h"

#include <doctest/doctest.h>

#include <cstring>
#include <map>
#include <random>
#include <vector>

#include "src/spool_writer/gsd.h"
#include "src/spool_writer/spool_format.h"
#include "tests/unit/spool_reader/written_spool.h"

using namespace gradsync;
using test::WrittenSpool;

namespace {

// Remembers everything as plain values.
struct RememberingSink final : EventSink {
  ProcessInfo process;
  std::vector<std::string> names{""};
  std::vector<Event> events;
  std::map<std::uint64_t, std::map<std::string, std::string>> attributes;
  std::map<std::string, std::string> facts;

  void begin_process(const ProcessInfo& info) override { process = info; }
  NameId intern(std::string_view text) override {
    names.emplace_back(text);
    return NameId{static_cast<std::uint32_t>(names.size() - 1)};
  }
  void lane(const LaneInfo&) override {}
  void event(const Event& event) override { events.push_back(event); }
  void attribute(std::uint64_t reference, NameId key, std::int64_t value) override {
    attributes[reference][text(key)] = std::to_string(value);
  }
  void attribute(std::uint64_t reference, NameId key, NameId value) override {
    attributes[reference][text(key)] = text(value);
  }
  void fact(std::string_view key, std::string_view value) override { facts[std::string(key)] = value; }
  std::string text(NameId id) const { return names.at(static_cast<std::size_t>(id)); }
};

void write_a_little() {
  gsd_fact("rank", "3");
  const std::uint32_t name = gsd_string("all_reduce", -1), group = gsd_string("world", -1);
  const std::uint64_t event = gsd_event(GSD_WHAT(Kind::collective, Phase::none, Source::torch_hook, kFlagAsync, name),
                                        4096, GSD_WHERE(group, 7), 1000, 2000);
  gsd_attr_int(event, gsd_string("elements", -1), 1024);
  gsd_attr_str(event, gsd_string("dtype", -1), gsd_string("float32", -1));
  gsd_begin(GSD_WHAT(Kind::range, Phase::backward, Source::torch_hook, 0, name), 0, 0);  // stays open
}

void write_a_lot() {
  const std::uint32_t name =
      gsd_string("a name of more than sixty-four characters, so that it needs two raw records behind it", -1);
  for (int i = 0; i < 5000; ++i) gsd_event(GSD_WHAT(Kind::range, Phase::none, Source::nvtx, 0, name), 0, 0, i, i + 1);
}

std::int64_t lost(const RememberingSink& sink) {
  std::int64_t count = 0;
  for (const Event& event : sink.events)
    if (event.kind == Kind::loss) count += event.bytes;
  return count;
}

}  // namespace

TEST_CASE("what was written is read") {
  const WrittenSpool written(write_a_little);
  RememberingSink sink;
  const auto stats = read_spool(written.spool(), sink);
  REQUIRE(stats);
  CHECK(sink.facts["rank"] == "3");
  REQUIRE(sink.events.size() == 2);
  const Event& event = sink.events[0];
  CHECK(event.kind == Kind::collective);
  CHECK(event.source == Source::torch_hook);
  CHECK(event.has(kFlagAsync));
  CHECK(sink.text(event.name) == "all_reduce");
  CHECK(sink.text(event.group) == "world");
  CHECK(event.sequence == 7);
  CHECK(event.bytes == 4096);
  CHECK(event.duration() == 1000);
  CHECK(sink.attributes[event.reference] ==
        std::map<std::string, std::string>{{"dtype", "float32"}, {"elements", "1024"}});
  CHECK(sink.events[1].end == 0);
  CHECK_FALSE(sink.process.exited_cleanly);
  CHECK(sink.process.pid > 0);
}

TEST_CASE("many chunks and long names") {
  const WrittenSpool written(write_a_lot);
  RememberingSink sink;
  const auto stats = read_spool(written.spool(), sink);
  REQUIRE(stats);
  CHECK(stats->events == 5000);
  CHECK(sink.text(sink.events.back().name).size() == 85);
  CHECK(stats->unknown_kinds == 0);
}

TEST_CASE("a file cut anywhere gives what was whole before, and says what is missing") {
  const WrittenSpool written(write_a_lot);
  const std::string whole = written.bytes();
  for (const std::size_t size : {std::size_t{5000}, std::size_t{70000}, std::size_t{70001}, std::size_t{200000}}) {
    CAPTURE(size);
    written.replace(whole.substr(0, size));
    RememberingSink sink;
    const auto stats = read_spool(written.spool(), sink);
    REQUIRE(stats);
    CHECK(stats->events < 5000);
    CHECK(lost(sink) > 0);
  }
}

TEST_CASE("files that are no spool of ours are refused with the reason") {
  const WrittenSpool written(write_a_little);
  const std::string whole = written.bytes();
  const auto why_after = [&](std::size_t offset, const std::string& patch) {
    std::string bytes = whole;
    bytes.replace(offset, patch.size(), patch);
    written.replace(bytes);
    RememberingSink sink;
    const auto stats = read_spool(written.spool(), sink);
    REQUIRE_FALSE(stats);
    CHECK(sink.events.empty());
    return stats.error().why;
  };
  CHECK(why_after(0, "GARBAGE!") == "it does not begin with GSDSPOOL");
  CHECK(why_after(8, std::string("\x01\x02\x03\x04", 4)) == "it was recorded on a machine with the other byte order");
  CHECK(why_after(12, std::string("\x09\0\0\0", 4)) == "format 9 is newer than this program's 1");
  CHECK(why_after(20, std::string("\x7f\0\0\0", 4)) == "its header is damaged");
  written.replace(whole.substr(0, 100));
  RememberingSink sink;
  CHECK(read_spool(written.spool(), sink).error().why == "only 100 bytes long");
  CHECK_FALSE(read_spool(written.folder() / "nothing", sink));
}

TEST_CASE("kinds of a later version are skipped and counted") {
  const WrittenSpool written(write_a_little);
  std::string bytes = written.bytes();
  // The last record of the chunk that is in use becomes one of kind 200.
  std::size_t last = 0;
  for (std::size_t at = spool::kHeaderBytes + 64; at + 64 <= bytes.size(); at += 64)
    if (bytes[at] == static_cast<char>(Kind::range)) last = at;
  REQUIRE(last > 0);
  bytes[last] = static_cast<char>(200);
  written.replace(bytes);
  RememberingSink sink;
  const auto stats = read_spool(written.spool(), sink);
  REQUIRE(stats);
  CHECK(stats->unknown_kinds == 1);
  CHECK(stats->events == 1);
}

TEST_CASE("damaged bytes never crash the reader") {
  const WrittenSpool written(write_a_lot);
  const std::string whole = written.bytes();
  std::mt19937 random(5);
  for (int round = 0; round < 60; ++round) {
    std::string bytes = whole;
    for (int i = 0; i < 200; ++i)
      bytes[spool::kHeaderBytes + random() % (bytes.size() - spool::kHeaderBytes)] = static_cast<char>(random());
    written.replace(bytes);
    RememberingSink sink;
    CHECK(read_spool(written.spool(), sink));
  }
}
