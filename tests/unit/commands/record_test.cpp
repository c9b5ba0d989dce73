// A fake collector goes through a run the way a later one will: variables in, events and series out.
#include "src/commands/record.h"

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "src/commands/recording_parts.h"
#include "src/spool_reader/recording.h"
#include "src/timeline/builder.h"
#include "tests/support/folder.h"
#include "tests/support/sinks.h"

using namespace gradsync;
namespace fs = std::filesystem;

namespace {

class FakeCollector final : public Collector {
 public:
  explicit FakeCollector(std::string variable) : variable_(std::move(variable)) {}
  std::string name() const override { return "fake " + variable_; }
  std::vector<Coverage> probe(const CollectorContext&) const override { return {}; }
  Result<void> start(const CollectorContext&, Environment& environment) override {
    if (variable_ == "REFUSE") return Error{"cannot start", "the fake", "it refuses", "ask nicely"};
    environment[variable_] = variable_ == "LD_PRELOAD" ? "/nonexistent.so" : "1";
    return {};
  }
  void stop(const CollectorContext&, EventSink& events, RecordingParts& parts) override {
    Event event;
    event.kind = Kind::sched_wait;
    event.source = Source::host;
    event.name = events.intern("runnable");
    event.start = 10;
    event.end = 30;
    event.reference = 1;
    events.event(event);
    events.attribute(1, events.intern("cpu"), std::int64_t{3});
    parts.series["fake"] = {"fake", {"a"}, {{std::int64_t{7}}}};
    parts.facts["fake"] = "yes";
  }

 private:
  std::string variable_;
};

struct SeeingSink final : test::IgnoringSink {
  std::vector<Event> events;
  std::int64_t cpu = -1;
  void event(const Event& event) override { events.push_back(event); }
  void attribute(std::uint64_t, NameId, std::int64_t value) override { cpu = value; }
};

std::vector<std::unique_ptr<Collector>> fakes(std::vector<std::string> variables) {
  std::vector<std::unique_ptr<Collector>> collectors;
  for (std::string& variable : variables) collectors.push_back(std::make_unique<FakeCollector>(std::move(variable)));
  return collectors;
}

}  // namespace

TEST_CASE("a collector's variables reach the job, its events and series the recording") {
  const test::Folder own;
  const fs::path& folder = own.path();
  REQUIRE(make_recording_folder(folder));
  // In a child: the writer serves one recording per process.
  const pid_t child = ::fork();
  if (child == 0) {
    CollectorContext context;
    context.recording = folder;
    context.command_line = {"/bin/true"};
    Recorder recorder(context, fakes({"GSD_FAKE", "REFUSE"}));
    const Environment environment = recorder.start({{"HOME", "/"}});
    const RecordingParts parts = recorder.finish();
    const bool good = environment.at("GSD_FAKE") == "1" && environment.at("HOME") == "/" &&
                      environment.at("GSD_RECORDING") == folder && parts.series.contains("fake") &&
                      parts.facts.at("fake") == "yes" && parts.coverage.size() == 2 &&
                      parts.coverage[1].state == CoverageState::unavailable && parts.coverage[1].hint == "ask nicely";
    ::_exit(good ? 0 : 1);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  CHECK(status == 0);
  SeeingSink sink;
  const auto parts = open_recording_folder(folder);
  REQUIRE(parts);
  CHECK(read_spools(*parts, sink).empty());
  REQUIRE(sink.events.size() == 1);
  CHECK(sink.events[0].kind == Kind::sched_wait);
  CHECK(sink.events[0].duration() == 20);
  CHECK(sink.cpu == 3);
}
