// A job under the doctor: what the commands `run` and `verify` share. Collectors in, job through, recording out, report.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "src/base/environment.h"
#include "src/base/result.h"
#include "src/commands/ab_options.h"
#include "src/commands/launch.h"
#include "src/commands/output.h"
#include "src/commands/profile_choice.h"
#include "src/commands/record.h"
#include "src/commands/root_options.h"
#include "src/commands/rule_options.h"
#include "src/diagnosis/rule.h"
#include "src/model/report.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace gradsync {

enum class Experiments { offered, none };  // --ab, --quality

class JobRun {
 public:
  // CMD, behind the positionals of the command's own, and all options.
  void declare(CLI::App& app, Experiments experiments);

  // Everything that keeps the job from starting: wrong options, rules and profiles that cannot be read.
  Result<void> prepare();
  const RuleSet& rules() const { return rule_set_; }  // once prepared

  // Runs CMD, gives the report of its run to `complete`, and shows it. The exit status of the program: CMD's own, when
  // that is 0 what --fail-on says. Inside another doctor's job CMD is only run.
  int run(const std::function<void(Report&)>& complete = {});

 private:
  Result<void> may_count();
  template <class Part>
  void guarded(const char* name, Part part);
  int pass_through();
  void start_collectors();
  std::string budget_text() const;
  void finish_collectors();
  int report(const LaunchResult& job, const std::function<void(Report&)>& complete);
  Report make_report();

  std::vector<std::string> command_;
  std::string folder_, steps_ = "all", deep_ = "auto", nccl_ = "auto", linger_ = "0s";
  std::string counters_, counter_names_;  // empty: none
  const CLI::Option *steps_option_ = nullptr, *counters_option_ = nullptr;
  double budget_ = 0.5, linger_seconds_ = 0;
  int threads_ = 1;
  RootOptions roots_;
  AbOptions ab_;
  ProfileOptions profile_options_;
  ProfileChoice profiles_;
  RuleChoice rules_;
  RuleSet rule_set_;
  OutputOptions output_;
  CollectorContext context_;
  Environment environment_;
  std::optional<Recorder> recorder_;
  Report parts_;
};

}  // namespace gradsync
