#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>

#include "src/commands/command.h"
#include "src/commands/exit_status.h"
#include "version.h"

namespace gradsync {
namespace {

// CLI11 has its own statuses; ours are part of the contract: asked-for help is success, anything else wrong usage.
int parse_failure(const CLI::App& app, const CLI::ParseError& error) {
  const bool asked = error.get_exit_code() == static_cast<int>(CLI::ExitCodes::Success);
  if (asked) {
    app.exit(error);
    return exit_status::kDone;
  }
  std::fprintf(stderr, "gradsync-doctor: %s\n", error.what());
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
  commands.push_back(make_show_command());
  commands.push_back(make_check_command());
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
    sub->callback([&chosen, &command] { chosen = command.get(); });
  }
  try {
    app.parse(argc, argv);
    return chosen->run();
  } catch (const CLI::ParseError& error) {
    return parse_failure(app, error);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "gradsync-doctor: %s\n", error.what());
    return exit_status::kDoctorFailed;
  }
}

}  // namespace gradsync
