#include "tests/unit/commands/golden_report.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "src/base/file.h"
#include "src/base/host_name.h"
#include "src/base/text.h"
#include "src/commands/command.h"
#include "src/commands/examine.h"
#include "src/commands/sweep_report.h"
#include "src/report/json.h"
#include "src/timeline/builder.h"
#include "tests/support/text_events.h"
#include "tests/support/text_recording.h"
#include "tests/unit/commands/state_home.h"

namespace gradsync::test {
namespace fs = std::filesystem;
namespace {

// What differs between machines and versions is not what the golden files are about.
void normalise(Report& report) {
  report.tool.version = "test";
  report.tool.parts.clear();
  report.run.recording = "recording";
  std::replace(report.run.hosts.begin(), report.run.hosts.end(), host_name(), std::string("node0"));
  std::erase_if(report.metrics, [](const Metric& metric) { return metric.name == "observer.cost_percent"; });
}

Facts added_facts(const fs::path& folder) {
  Facts facts;
  const auto text = read_file(folder / "facts.txt");
  if (!text) return facts;
  for (std::string_view rest = *text; !rest.empty();) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
    if (const std::size_t equals = line.find('='); equals != std::string_view::npos)
      facts[std::string(line.substr(0, equals))] = line.substr(equals + 1);
  }
  return facts;
}

Result<ProfileChoice> profiles_beside(const fs::path& folder) {
  const auto named = [&](const char* file) { return fs::exists(folder / file) ? (folder / file).string() : ""; };
  return named_profiles({named("fabric.json"), named("loads.json")});
}

Report from_memory(const std::string& events, const Report& parts, const RuleSet& rules, ProfileChoice profiles) {
  TimelineBuilder builder;
  feed(events, builder);
  Inputs inputs;
  load_name_classes(rules, inputs);
  inputs.run = parts.run;
  inputs.facts = parts.facts;
  inputs.coverage = parts.coverage;
  inputs.series = parts.series;
  return conclude(builder.build(), std::move(inputs), rules, {1, std::move(profiles)});
}

// As if series.json had just been measured, here and now.
Report swept(const Report& parts, const RuleSet& rules) {
  SweptFabric swept;
  swept.series = parts.series;
  swept.coverage = parts.coverage;
  swept.seconds = parts.run.seconds;
  SweepSetting setting;
  setting.facts = parts.facts;
  setting.place.ranks = std::atoi(parts.facts.at("ranks").c_str());
  setting.own_host = "node0";
  setting.measured_at = 1'764'504'000;
  return sweep_report(std::move(swept), setting, rules);
}

// What the program prints as JSON, called in this folder with a state folder of its own.
Result<Report> told_by(const std::string& line, const fs::path& folder) {
  std::vector<std::string> words{"gradsync-doctor"};
  for (const std::string_view word : split_words(line)) words.emplace_back(word);
  words.insert(words.end(), {"--json", "-"});
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  const StateHome home;
  const fs::path before = fs::current_path(), told = home.folder() / "told.json";
  const FileDescriptor file(::open(told.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600)), shown(::dup(STDOUT_FILENO));
  std::fflush(stdout);
  ::dup2(file.get(), STDOUT_FILENO);
  fs::current_path(folder);
  const int status = run_command_line(static_cast<int>(arguments.size()), arguments.data());
  fs::current_path(before);
  ::dup2(shown.get(), STDOUT_FILENO);
  REQUIRE(status == 0);
  const auto text = read_file(told);
  if (!text) return text.error();
  Result<Report> report = report_from_json(*text, line);
  if (report && report->command == "sweep") report->run.command_line = {words.begin() + 2, words.end() - 2};
  return report;
}

Result<Report> report_of(const fs::path& folder, const Report& parts, const RuleSet& rules) {
  if (const auto command = read_file(folder / "command.txt")) {
    const std::string line(trim(*command));
    return line == "sweep" ? Result<Report>(swept(parts, rules)) : told_by(line, folder);
  }
  const auto events = read_file(folder / "events.txt");
  if (!events) return events.error();
  Result<ProfileChoice> profiles = profiles_beside(folder);
  if (!profiles) return profiles.error();
  if (parts.facts.empty() && !profiles->fabric && !profiles->loads)
    return examine(TextRecording(*events, parts).folder(), rules);
  return from_memory(*events, parts, rules, std::move(*profiles));
}

}  // namespace

Result<Report> golden_report(const fs::path& folder, const RuleSet& rules) {
  Report parts;
  parts.tool.version = "test";
  parts.command = "run";
  parts.run.command_line = {"python3", "train.py"};
  parts.run.seconds = 0.75;
  parts.facts = added_facts(folder);
  if (const auto series = read_file(folder / "series.json")) {
    auto told = report_from_json(*series, "series.json");
    if (!told) return told.error();
    parts.series = std::move(told->series);
    parts.coverage = std::move(told->coverage);
  }
  Result<Report> report = report_of(folder, parts, rules);
  if (report) normalise(*report);
  return report;
}

}  // namespace gradsync::test
