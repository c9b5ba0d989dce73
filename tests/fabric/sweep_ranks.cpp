// The live half of a sweep without the command around it, for the tests of this folder: rank 0 prints one JSON object
// per line, {"fact": …} and {"op", "type", "bytes", "us", "skew_us", "wrong", …}; an error goes to stderr, exit status 3.
//
//   sweep_ranks [key=value …]   ranks (0: a launcher's variables) plugins op type min max repeats rounds interface
//                               timeout_ms limit_ms options
#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <map>
#include <string>

#include "collectors/fabric/sweep_plan.h"
#include "collectors/fabric/sweep_session.h"

namespace {

std::atomic<bool> stop{false};

using Options = std::map<std::string, std::string>;

std::string option(const Options& options, const std::string& name, const std::string& otherwise) {
  const auto found = options.find(name);
  return found == options.end() ? otherwise : found->second;
}

int say(const gradsync::Error& error) {
  std::fprintf(stderr, "error: %s\n%s\n", error.message().c_str(), error.hint.c_str());
  return error.exit_status;
}

void print(const gradsync::SweepSample& sample) {
  fmt::print(R"({{"op": "{}", "type": "{}", "bytes": {}, "repeat": {}, "us": {:.3f}, "skew_us": {:.3f}, "wrong": {}}})"
             "\n",
             gradsync::to_string(sample.call.operation), gradsync::to_string(sample.call.type),
             sample.call.elements * gradsync::size_of(sample.call.type), sample.repeat, sample.us, sample.skew_us,
             std::isnan(sample.wrong) ? std::string("null") : fmt::format("{}", sample.wrong));
}

int lead(gradsync::SweepSession& session, const Options& options) {
  gradsync::SweepRequest request;
  request.operations = {*gradsync::fabric_operation(option(options, "op", "all_reduce"))};
  request.type = *gradsync::element_type(option(options, "type", "float"));
  request.min_bytes = std::stoll(option(options, "min", "1024"));
  request.max_bytes = std::stoll(option(options, "max", "1048576"));
  request.ranks = session.place().ranks;
  const auto calls = gradsync::plan_calls(request);
  if (!calls) return say(calls.error());
  for (const auto& [name, value] : session.facts())
    fmt::print("{{\"fact\": \"{}\", \"value\": \"{}\"}}\n", name, value);
  std::fflush(stdout);
  const auto measured = session.measure(gradsync::plan_visits(
      *calls, {std::stoi(option(options, "repeats", "10")), std::stoi(option(options, "rounds", "5")), false, 1}));
  if (!measured) return say(measured.error());
  for (const gradsync::SweepSample& sample : measured->samples) print(sample);
  if (measured->interrupted) fmt::print("{{\"interrupted\": true}}\n");
  session.end();
  return 0;
}

}  // namespace

int main(int count, char** arguments) {
  Options options;
  for (int index = 1; index < count; ++index) {
    const std::string text = arguments[index];
    options[text.substr(0, text.find('='))] = text.substr(text.find('=') + 1);
  }
  struct sigaction action {};
  action.sa_handler = [](int) { stop = true; };
  ::sigaction(SIGINT, &action, nullptr);
  gradsync::SweepStart start;
  start.backend = "gloo";
  start.ranks = std::stoi(option(options, "ranks", "0"));
  start.plugins = option(options, "plugins", "");
  start.interface_name = option(options, "interface", "");
  start.timeout_ms = std::stoll(option(options, "timeout_ms", "20000"));
  start.limit_ms = std::stoll(option(options, "limit_ms", "0"));
  start.options = option(options, "options", "");
  start.stop = &stop;
  auto session = gradsync::start_sweep(start);
  if (!session) return say(session.error());
  if ((*session)->place().rank == 0) return lead(**session, options);
  const auto followed = (*session)->follow();
  return followed ? 0 : say(followed.error());
}
