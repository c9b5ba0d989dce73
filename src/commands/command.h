// A Command: one word on the command line. commands.cpp lists them all.
#pragma once

#include <memory>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace gradsync {

class Command {
 public:
  virtual ~Command() = default;
  virtual std::string name() const = 0;
  virtual std::string summary() const = 0;
  // Adds options and positionals to its own sub-command.
  virtual void declare(CLI::App& app) = 0;
  // After parsing. Returns the exit status; throws nothing.
  virtual int run() = 0;
};

// Every command, in the order in which help lists them.
std::vector<std::unique_ptr<Command>> all_commands();

std::unique_ptr<Command> make_run_command();
std::unique_ptr<Command> make_analyze_command();
std::unique_ptr<Command> make_sweep_command();
std::unique_ptr<Command> make_show_command();
std::unique_ptr<Command> make_bench_command();
std::unique_ptr<Command> make_whatif_command();
std::unique_ptr<Command> make_compare_command();
std::unique_ptr<Command> make_verify_command();
std::unique_ptr<Command> make_irq_command();
std::unique_ptr<Command> make_check_command();
std::unique_ptr<Command> make_sched_command();
std::unique_ptr<Command> make_explain_command();
std::unique_ptr<Command> make_rules_command();

// Parses and runs. The status is the process's: see exit_status.h.
int run_command_line(int argc, char** argv);

}  // namespace gradsync
