// run -- CMD…: the job under the doctor, and what its synchronisation costs.
#include <CLI/CLI.hpp>

#include "src/commands/command.h"
#include "src/commands/job_run.h"

namespace gradsync {
namespace {

class RunCommand final : public Command {
 public:
  std::string name() const override { return "run"; }
  std::string summary() const override { return "run a job under the doctor and print what its synchronisation costs"; }
  void declare(CLI::App& app) override {
    job_.declare(app, Experiments::offered);
    app.positionals_at_end();  // the first word that is no option is CMD's
  }

  int run() override {
    if (const Result<void> prepared = job_.prepare(); !prepared) return print_error(prepared.error());
    return job_.run();
  }

 private:
  JobRun job_;
};

}  // namespace

std::unique_ptr<Command> make_run_command() { return std::make_unique<RunCommand>(); }

}  // namespace gradsync
