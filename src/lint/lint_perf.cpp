// perf-command: `perf sched latency`, events that do not exist, and the writing of an interrupt's affinity by hand.
#include <algorithm>

#include "src/base/text.h"
#include "src/lint/command_lint.h"

namespace gradsync {
namespace {

// What latency adds up; `perf sched record` stores sched_waking in place of sched_wakeup, and latency does not count that.
constexpr const char* kRecord =
    "perf record -a -e sched:sched_switch,sched:sched_wakeup,sched:sched_wakeup_new,sched:sched_migrate_task -- sleep "
    "10";

void add(std::vector<std::string>& lines, const std::string& line) {
  if (std::find(lines.begin(), lines.end(), line) == lines.end()) lines.push_back(line);
}

bool is_perf_sched(const std::vector<std::string>& words, std::size_t at, std::string_view command) {
  return at + 2 < words.size() && words[at + 1] == "sched" && words[at + 2] == command;
}

void lint_latency(const ShellCommand& command, std::size_t at, const OptionTable& table, CommandLint& lint) {
  const std::vector<std::string> behind(command.words.begin() + static_cast<std::ptrdiff_t>(at) + 3,
                                        command.words.end());
  const GivenOptions given = read_options(table, behind, Operands::may_stand_between);
  OptionCheck options = check_options(table, given.options);
  if (options.findings.empty()) return;
  lint.findings.insert(lint.findings.end(), options.findings.begin(), options.findings.end());
  std::vector<std::string> words(command.words.begin(), command.words.begin() + static_cast<std::ptrdiff_t>(at) + 3);
  words.insert(words.end(), options.corrected.begin(), options.corrected.end());
  add(lint.right, kRecord);
  add(lint.right, written({{}, {}, command.redirections, ""}, words));
  lint.notes.emplace_back("Migrations and wake-ups are not in that table: perf sched timehist -Mw");
  lint.notes.emplace_back("gradsync-doctor sched shows the same live, without a data file.");
}

void lint_record(CommandLint& lint) {
  lint.findings.push_back(
      {Severity::warning, "perf sched record",
       "from perf 5.x on it stores sched_waking, which perf sched latency does not count: threads that "
       "were never preempted show 0.000",
       ""});
  add(lint.right, kRecord);
}

void lint_events(const ShellCommand& command, const OptionTable& table, CommandLint& lint) {
  for (const std::string& word : command.words)
    for (const KnownMistake& mistake : table.mistakes) {
      if (mistake.event.empty() || word.find(mistake.event) == std::string::npos) continue;
      lint.findings.push_back({mistake.severity, mistake.event, mistake.says, ""});
      add(lint.right, "perf record -F 499 -g -p PID -- sleep 10");
      add(lint.right,
          "perf report --no-children --symbol-filter=copy   # _copy_to_user, _copy_from_user, rep_movs_alternative");
      add(lint.notes, "gradsync-doctor run, as root, counts such samples of the job's threads (usercopy.*).");
    }
  const auto events = [](std::string_view word) {
    return word.find("irq:irq_handler_entry") != std::string_view::npos;
  };
  const auto soft = [](std::string_view word) { return word.find("irq:softirq_entry") != std::string_view::npos; };
  const auto& words = command.words;
  if (std::any_of(words.begin(), words.end(), events) && std::none_of(words.begin(), words.end(), soft))
    lint.findings.push_back({Severity::info, "irq:irq_handler_entry",
                             "most of a network's time is behind the handler, in soft interrupts",
                             "add -e irq:softirq_entry -e irq:softirq_exit"});
}

// echo 0-3 > /proc/irq/N/smp_affinity_list, with or without its ">".
void lint_affinity(const ShellCommand& command, CommandLint& lint) {
  const auto names_irq = [](const std::string& word) { return word.starts_with("/proc/irq/"); };
  const auto& words = command.words;
  const bool as_word = std::any_of(words.begin(), words.end(), names_irq);
  const bool as_target = std::any_of(command.redirections.begin(), command.redirections.end(),
                                     [&](const Redirection& redirection) { return names_irq(redirection.target); });
  if (words.empty() || words[0] != "echo" || (!as_word && !as_target)) return;
  if (as_word)
    lint.findings.push_back(
        {Severity::error, "echo", "prints the path instead of writing to it: the > is missing", ""});
  lint.findings.push_back(
      {Severity::warning, "/proc/irq",
       "one vector by hand: irqbalance moves it back, several CPUs in the list usually mean one, and the "
       "CPUs of the training and the NIC's NUMA node are not looked at",
       "gradsync-doctor irq --fix --dry-run"});
  add(lint.right, "gradsync-doctor irq --fix --dry-run");
  add(lint.right, "sudo gradsync-doctor irq --fix");
}

}  // namespace

Result<CommandLint> lint_perf(const std::string& text) {
  const auto commands = split_shell(text);
  if (!commands) return commands.error();
  const auto table = option_table("perf_sched_latency");
  if (!table) return table.error();
  CommandLint lint{"perf-command", 3, text, {}, {}, {}};
  bool known = false;
  for (const ShellCommand& command : *commands) {
    const auto perf = std::find_if(command.words.begin(), command.words.end(),
                                   [](const std::string& word) { return program_name(word) == "perf"; });
    const auto at = static_cast<std::size_t>(perf - command.words.begin());
    known |= perf != command.words.end() || text.find("/proc/irq/") != std::string::npos;
    lint_affinity(command, lint);
    if (perf == command.words.end()) continue;
    if (is_perf_sched(command.words, at, "latency")) lint_latency(command, at, *table, lint);
    if (is_perf_sched(command.words, at, "record")) lint_record(lint);
    lint_events(command, *table, lint);
  }
  if (!known) return Error{"no perf in the command", text, "", "--perf 'perf sched latency -p -s max'", 2};
  return lint;
}

}  // namespace gradsync
