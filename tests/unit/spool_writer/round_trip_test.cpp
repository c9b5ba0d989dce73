// What the C ABI is told is what the file says.
#include <doctest/doctest.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <string>

#include "src/spool_writer/gsd.h"
#include "tests/unit/spool_writer/spool_probe.h"

using namespace gradsync;
using spool::Kind;
using spool::Phase;
using spool::Source;
using test::Recording;
using test::run_writer;

namespace {

std::uint64_t range(const char* name) {
  return GSD_WHAT(Kind::range, Phase::forward, Source::torch_hook, 0, gsd_string(name, -1));
}

}  // namespace

TEST_CASE("without GSD_RECORDING every call does nothing") {
  const int status = run_writer(nullptr, [] {
    const std::uint64_t event = gsd_begin(range("a"), 1, 0);
    gsd_end(event);
    gsd_fact("rank", "0");
    gsd_attr_int(event, 1, 1);
    gsd_link(event, event);
    gsd_self_ns(5);
    gsd_step_deep();
    gsd_window_close(gsd_window(0));
    const bool silent = gsd_enabled() == 0 && event == 0 && gsd_string("a", -1) == 0 && gsd_step(1, 0, 0) == 0 &&
                        gsd_current_step() == spool::kNoStep;
    return silent ? 0 : 1;
  });
  CHECK(status == 0);
}

TEST_CASE("an event keeps all it was given") {
  const Recording recording;
  const int status = run_writer(&recording, [] {
    const std::uint32_t group = gsd_string("world", -1);
    const std::uint64_t begun =
        gsd_begin(GSD_WHAT(Kind::collective, Phase::backward, Source::torch_hook,
                           spool::kFlagAsync | spool::kFlagInHook, gsd_string("all_reduce", -1)),
                  4096, GSD_WHERE(group, 7));
    gsd_end(begun);
    const std::uint64_t wait = gsd_event(GSD_WHAT(Kind::wait, 0, Source::torch_hook, 0, 0), 0, 0, 100, 250);
    gsd_link(wait, begun);
    gsd_attr_str(begun, gsd_string("dtype", -1), gsd_string("bfloat16", -1));
    gsd_attr_int(begun, gsd_string("elements", -1), -2048);
    gsd_attr_int(0, gsd_string("elements", -1), 1);
    return 0;
  });
  REQUIRE(status == 0);

  const test::Spool spool = recording.only();
  REQUIRE(spool.events.size() == 2);
  const spool::Record& collective = spool.events[0].record;
  CHECK(collective.kind == Kind::collective);
  CHECK(collective.phase == Phase::backward);
  CHECK(collective.source == Source::torch_hook);
  CHECK(collective.flags == (spool::kFlagAsync | spool::kFlagInHook));
  CHECK(spool.text(collective.name) == "all_reduce");
  CHECK(collective.bytes == 4096);
  CHECK(spool.text(collective.group) == "world");
  CHECK(collective.sequence == 7);
  CHECK(collective.lane == 0);
  CHECK(collective.step == spool::kNoStep);
  CHECK(collective.start_ns > 0);
  CHECK(collective.end_ns >= collective.start_ns);
  const spool::Record& wait = spool.events[1].record;
  CHECK(wait.start_ns == 100);
  CHECK(wait.end_ns == 250);
  CHECK(wait.correlation == spool.events[0].index);
  CHECK(spool.attributes.size() == 2);
  CHECK(spool.attribute(spool.events[0].index, "dtype") == "bfloat16");
  CHECK(spool.attribute(spool.events[0].index, "elements") == "-2048");
}

TEST_CASE("the header says whose spool it is, and that it ended well") {
  const Recording recording;
  REQUIRE(run_writer(&recording, [] {
            gsd_fact("rank", "3");
            gsd_fact("rank", "4");
            gsd_self_ns(1000);
            return 0;
          }) == 0);
  const test::Spool spool = recording.only();
  CHECK(spool.header.format_version == spool::kFormatVersion);
  CHECK(spool.header.byte_order == spool::kByteOrder);
  CHECK(spool.header.record_bytes == spool::kRecordBytes);
  CHECK(spool.header.parent_pid == static_cast<std::uint32_t>(::getpid()));
  std::string own_command;
  std::getline(std::ifstream("/proc/self/cmdline"), own_command, '\0');
  CHECK(std::string(spool.header.command).rfind(own_command.substr(0, 255), 0) == 0);
  CHECK(spool.header.exited_cleanly == 1);
  CHECK(spool.header.exit_ns > spool.header.monotonic_ns);
  CHECK(spool.header.realtime_ns > 1'600'000'000'000'000'000);
  CHECK(spool.header.self_ns >= 1000);
  CHECK(spool.header.self_ns < 1'000'000'000);
  CHECK(spool.fact("rank") == "4");
  CHECK(spool.lanes.front().tid == spool.header.pid);
}

TEST_CASE("a second end is ignored, and so is the end of what is no event") {
  const Recording recording;
  REQUIRE(run_writer(&recording, [] {
            const std::uint64_t event = gsd_begin(range("a"), 0, 0);
            gsd_event(range("b"), 0, 0, 1, 2);
            gsd_end(event + 1);  // closed already
            gsd_end(event);
            ::usleep(2000);
            gsd_end(event);
            gsd_end(event + 50);
            gsd_end(std::uint64_t{1} << 40);
            gsd_end(spool::kRecordsPerChunk);
            return 0;
          }) == 0);
  const test::Spool spool = recording.only();
  REQUIRE(spool.events.size() == 2);
  CHECK(spool.events[0].record.end_ns - spool.events[0].record.start_ns < 2'000'000);
  CHECK(spool.events[1].record.end_ns == 2);
}

TEST_CASE("steps: each closes the one before, events carry the number that runs") {
  const Recording recording;
  REQUIRE(run_writer(&recording, [] {
            int wrong = gsd_current_step() != spool::kNoStep;
            gsd_step(1000, 0, 0);
            wrong += gsd_current_step() != 0;
            gsd_event(range("in step 0"), 0, 0, 1100, 1200);
            gsd_step(2000, 5, 1);
            gsd_event(range("in step 1"), 0, 0, 2100, 2200);
            gsd_step(3000, 0, 0);
            gsd_step_deep();
            return wrong;
          }) == 0);
  const test::Spool spool = recording.only();
  const auto steps = spool.of_kind(Kind::step);
  REQUIRE(steps.size() == 3);
  const std::int64_t starts[] = {1000, 2000, 3000};
  const std::int64_t ends[] = {2000, 3000, 0};
  const std::uint8_t flags[] = {0, spool::kFlagDeep, spool::kFlagDeep};
  for (std::uint32_t i = 0; i < 3; ++i) {
    CHECK(steps[i].step == i);
    CHECK(steps[i].start_ns == starts[i]);
    CHECK(steps[i].end_ns == ends[i]);
    CHECK(steps[i].flags == flags[i]);
  }
  CHECK(steps[1].group == 5);
  const auto ranges = spool.of_kind(Kind::range);
  CHECK(ranges[0].step == 0);
  CHECK(ranges[1].step == 1);
}

TEST_CASE("windows are events that name their file") {
  const Recording recording;
  REQUIRE(run_writer(&recording, [] {
            const std::uint64_t window = gsd_window(gsd_string("vm-1-0.json", -1));
            gsd_attr_int(window, gsd_string("clock_open_ns", -1), 123);
            gsd_window_close(window);
            return 0;
          }) == 0);
  const test::Spool spool = recording.only();
  const auto windows = spool.of_kind(Kind::window);
  REQUIRE(windows.size() == 1);
  CHECK(spool.text(windows[0].name) == "vm-1-0.json");
  CHECK(windows[0].end_ns >= windows[0].start_ns);
  CHECK(windows[0].source == Source::profiler);
  CHECK(spool.attribute(spool.events[0].index, "clock_open_ns") == "123");
}

TEST_CASE("strings") {
  const Recording recording;

  SUBCASE("equal texts have one id and are written once; nothing is written before the first event") {
    REQUIRE(run_writer(&recording, [&] {
              const std::uint32_t a = gsd_string("alpha", -1);
              int wrong = a == 0 || gsd_string("alpha", 5) != a || gsd_string("alphabet", 5) != a;
              wrong += gsd_string("beta", -1) == a || gsd_string("", -1) != 0 || gsd_string(nullptr, -1) != 0;
              wrong += !recording.files().empty();
              gsd_event(GSD_WHAT(Kind::mark, 0, 0, 0, a), 0, 0, 1, 1);
              gsd_string("gamma", -1);
              return wrong;
            }) == 0);
    const test::Spool spool = recording.only();
    CHECK(spool.strings.size() == 3);
    CHECK(spool.text(spool.events[0].record.name) == "alpha");
    CHECK(spool.header.next_string == 4);
  }

  SUBCASE("every length around the record size comes back") {
    REQUIRE(run_writer(&recording, [] {
              for (int length : {1, 7, 8, 9, 63, 64, 65, 127, 128, 129, 4095, 4096}) {
                gsd_event(GSD_WHAT(Kind::mark, 0, 0, 0, gsd_string(std::string(length, 'x').c_str(), -1)),
                          static_cast<std::uint64_t>(length), 0, 1, 1);
              }
              return 0;
            }) == 0);
    const test::Spool spool = recording.only();
    REQUIRE(spool.events.size() == 12);
    for (const auto& event : spool.events) {
      CHECK(spool.text(event.record.name) == std::string(event.record.bytes, 'x'));
    }
  }

  SUBCASE("too long a text is cut, not inside a character") {
    const std::string text = std::string(4094, 'x') + "\u20ac\u20ac";
    REQUIRE(run_writer(&recording, [&] {
              gsd_event(GSD_WHAT(Kind::mark, 0, 0, 0, gsd_string(text.c_str(), -1)), 0, 0, 1, 1);
              return 0;
            }) == 0);
    const test::Spool spool = recording.only();
    CHECK(spool.text(spool.events[0].record.name) == std::string(4094, 'x'));
  }

  SUBCASE("a string that does not fit the rest of a chunk goes to the next one whole") {
    REQUIRE(run_writer(&recording, [] {
              for (int i = 0; i < 1010; ++i) gsd_event(GSD_WHAT(Kind::mark, 0, 0, 0, 0), 0, 0, 1, 1);
              gsd_event(GSD_WHAT(Kind::mark, 0, 0, 0, gsd_string(std::string(4000, 'y').c_str(), -1)), 1, 0, 1, 1);
              return 0;
            }) == 0);
    const test::Spool spool = recording.only();
    CHECK(spool.header.chunks_used == 2);
    CHECK(spool.text(spool.events.back().record.name) == std::string(4000, 'y'));
  }

  SUBCASE("the table is bounded: further texts get id 0 and are counted") {
    REQUIRE(run_writer(&recording, [] {
              gsd_fact("a", "b");
              int refused = 0;
              for (int i = 0; i < 60000; ++i) refused += gsd_string(("n" + std::to_string(i)).c_str(), -1) == 0;
              return refused > 10000 && gsd_string("n5", -1) != 0 ? 0 : 1;
            }) == 0);
    const test::Spool spool = recording.only();
    CHECK(spool.header.strings_refused > 10000);
    CHECK(spool.strings.size() + spool.header.strings_refused == 60002);
  }
}

TEST_CASE("errno is the job's") {
  const Recording recording;
  CHECK(run_writer(&recording, [] {
          errno = 42;
          int wrong = 0;
          for (int i = 0; i < 3000; ++i) gsd_end(gsd_begin(range("a"), 0, 0));
          wrong += errno != 42;
          gsd_goodbye();
          return wrong + (errno != 42);
        }) == 0);
}

TEST_CASE("a program that replaced itself keeps its pid and gets a second spool") {
  const Recording recording;
  const auto name_of = [](const std::filesystem::path& file) { return file.filename().string(); };
  REQUIRE(run_writer(&recording, [&] {
            gsd_fact("life", "one");
            // What exec leaves behind: the old file, and a writer that knows nothing of it.
            std::memset(spool::g_process, 0, sizeof *spool::g_process);
            gsd_fact("life", "two");
            return 0;
          }) == 0);
  auto files = recording.files();
  REQUIRE(files.size() == 2);
  std::sort(files.begin(), files.end(), [&](auto& a, auto& b) { return name_of(a).size() < name_of(b).size(); });
  CHECK(test::read_spool(files[0]).fact("life") == "one");
  CHECK(test::read_spool(files[1]).fact("life") == "two");
  CHECK(name_of(files[1]).find("-2.spool") != std::string::npos);
}
