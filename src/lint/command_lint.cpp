#include "src/lint/command_lint.h"

#include <algorithm>

namespace gradsync {

std::string_view program_name(std::string_view word) { return word.substr(word.rfind('/') + 1); }

bool starts_several(const std::vector<std::string>& words) {
  constexpr std::string_view kLaunchers[] = {"mpirun",    "mpiexec",    "srun",      "torchrun",
                                             "deepspeed", "accelerate", "horovodrun"};
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (std::find(std::begin(kLaunchers), std::end(kLaunchers), program_name(words[i])) != std::end(kLaunchers))
      return true;
    if (words[i] == "-m" && i + 1 < words.size() && words[i + 1].starts_with("torch.distributed.")) return true;
  }
  return false;
}

std::string written(const ShellCommand& command, const std::vector<std::string>& words) {
  std::string line;
  const auto add = [&line](const std::string& word) { line += (line.empty() ? "" : " ") + word; };
  for (const auto& [name, value] : command.assignments) add(name + "=" + shell_word(value));
  for (const std::string& word : words) add(shell_word(word));
  for (const Redirection& redirection : command.redirections) {
    add(redirection.operation);
    if (!redirection.target.empty()) add(shell_word(redirection.target));
  }
  if (!command.next.empty()) line += command.next == ";" ? ";" : " " + command.next;
  return line;
}

std::vector<Finding> findings_of(const CommandLint& lint) {
  std::vector<Finding> findings;
  for (const LintFinding& found : lint.findings) {
    Finding finding;
    finding.rule = lint.rule;
    finding.step = lint.step;
    finding.severity = found.severity;
    finding.state = FindingState::fired;
    finding.title = found.word;
    finding.says = found.says;
    if (!found.fix.empty()) finding.advice = {found.fix};
    findings.push_back(std::move(finding));
  }
  std::stable_sort(findings.begin(), findings.end(),
                   [](const Finding& a, const Finding& b) { return a.severity > b.severity; });
  if (findings.empty()) {
    Finding clean;
    clean.rule = lint.rule;
    clean.step = lint.step;
    clean.state = FindingState::clean;
    clean.title = "Nothing is wrong with the command";
    findings.push_back(std::move(clean));
  }
  return findings;
}

}  // namespace gradsync
