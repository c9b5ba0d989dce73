#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <exception>

#include "src/commands/command.h"
#include "src/commands/exit_status.h"
#include "version.h"

namespace gradsync {
namespace {

// CLI11 takes an argument in brackets for a list: [a,b] would reach CMD as a and b. A mark in front hides the bracket
// from it; what carries the mark already gets a second one, so that every argument comes back as it was.
constexpr char kMark = '\x01';

std::string hide_bracket(std::string argument) {
  const bool confused = !argument.empty() && (argument.front() == '[' || argument.front() == kMark);
  return confused ? kMark + argument : argument;
}

std::string show_bracket(std::string argument) {
  return !argument.empty() && argument.front() == kMark ? argument.substr(1) : argument;
}

void show_brackets(CLI::App& app) {
  for (CLI::Option* option : app.get_options())
    if (option->get_items_expected_max() > 0) option->transform(show_bracket);
}

// CLI11 speaks of what is missing before it speaks of the word that stands in its place.
std::string what_is_wrong(const CLI::App& app, const CLI::ParseError& error) {
  const auto code = static_cast<CLI::ExitCodes>(error.get_exit_code());
  if (code != CLI::ExitCodes::RequiredError && code != CLI::ExitCodes::ExtrasError) return error.what();
  const std::vector<std::string> unknown = app.remaining(true);
  const auto word = std::find_if(unknown.begin(), unknown.end(), [](const auto& text) { return text != "--"; });
  if (word == unknown.end()) return error.what();
  if (word->starts_with('-')) return "there is no option " + *word;
  return (app.get_subcommands().empty() ? "there is no command " : "one argument too many: ") + show_bracket(*word);
}

// CLI11 has its own statuses; ours are part of the contract: asked-for help is success, anything else wrong usage.
int parse_failure(const CLI::App& app, const CLI::ParseError& error) {
  const bool asked = error.get_exit_code() == static_cast<int>(CLI::ExitCodes::Success);
  if (asked) {
    app.exit(error);
    return exit_status::kDone;
  }
  std::fprintf(stderr, "gradsync-doctor: %s\n", what_is_wrong(app, error).c_str());
  std::string called = "gradsync-doctor";
  for (const CLI::App* sub : app.get_subcommands()) called += " " + sub->get_name();
  std::fprintf(stderr, "try: %s --help\n", called.c_str());
  return exit_status::kUsage;
}

}  // namespace

std::vector<std::unique_ptr<Command>> all_commands() {
  std::vector<std::unique_ptr<Command>> commands;
  commands.push_back(make_run_command());
  commands.push_back(make_analyze_command());
  commands.push_back(make_sweep_command());
  commands.push_back(make_show_command());
  commands.push_back(make_bench_command());
  commands.push_back(make_whatif_command());
  commands.push_back(make_compare_command());
  commands.push_back(make_verify_command());
  commands.push_back(make_irq_command());
  commands.push_back(make_check_command());
  commands.push_back(make_sched_command());
  commands.push_back(make_explain_command());
  commands.push_back(make_rules_command());
  return commands;
}

int run_command_line(int argc, char** argv) {
  CLI::App app{"Tells why gradient synchronisation is slow, and what each fix would save.", "gradsync-doctor"};
  app.set_version_flag("--version", std::string("gradsync-doctor ") + kVersion);
  app.require_subcommand(1);
  app.footer("Every command explains itself: gradsync-doctor COMMAND --help, man gradsync-doctor-COMMAND");
  std::vector<std::unique_ptr<Command>> commands = all_commands();
  Command* chosen = nullptr;
  for (const auto& command : commands) {
    CLI::App* sub = app.add_subcommand(command->name(), command->summary());
    command->declare(*sub);
    show_brackets(*sub);
    sub->callback([&chosen, &command] { chosen = command.get(); });
  }
  std::vector<std::string> last_first;  // as CLI11 wants them
  for (int i = argc - 1; i > 0; --i) last_first.push_back(hide_bracket(argv[i]));
  try {
    app.parse(std::move(last_first));
    const int status = chosen->run();
    if (std::fflush(stdout) == 0 || status != exit_status::kDone) return status;
    std::fprintf(stderr, "gradsync-doctor: cannot write to standard output\n");
    return exit_status::kDoctorFailed;
  } catch (const CLI::ParseError& error) {
    return parse_failure(app, error);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "gradsync-doctor: %s\n", error.what());
    return exit_status::kDoctorFailed;
  }
}

}  // namespace gradsync
