// nsys-command: `nsys profile …`, and `ncu` on collectives.
#include <fmt/format.h>

#include <algorithm>

#include "src/base/text.h"
#include "src/lint/command_lint.h"

namespace gradsync {
namespace {

constexpr const char* kKernels = "regex:[Tt]op[Kk]|[Ss]catter|RadixSort";

// A report's name with the rank in it, by the variable that the launcher in front of nsys sets.
std::string own_name(const std::vector<std::string>& before) {
  for (const std::string& word : before) {
    if (program_name(word) == "srun") return "r%q{SLURM_PROCID}";
    if (program_name(word) == "mpirun" || program_name(word) == "mpiexec") return "r%q{OMPI_COMM_WORLD_RANK}";
  }
  return "r%q{RANK}";
}

std::size_t position_of(const std::vector<std::string>& words, std::string_view program) {
  const auto found =
      std::find_if(words.begin(), words.end(), [&](const std::string& word) { return program_name(word) == program; });
  return static_cast<std::size_t>(found - words.begin());
}

struct NsysLine {
  OptionTable table;
  ShellCommand command;
  std::vector<std::string> before;  // a launcher in front of nsys
  GivenOptions given;
  const std::string* value_of(std::string_view name) const {
    for (const GivenOption& option : given.options)
      if (option.known != nullptr && option.known->name == name && option.value) return &*option.value;
    return nullptr;
  }
};

void check_environment(NsysLine& line, CommandLint& lint) {
  std::erase_if(line.command.assignments, [&](const auto& assignment) {
    for (const KnownMistake& mistake : line.table.mistakes) {
      if (mistake.variable.empty() || mistake.variable != assignment.first) continue;
      lint.findings.push_back({mistake.severity, assignment.first + "=" + assignment.second, mistake.says, ""});
      return true;
    }
    return false;
  });
}

void replace(std::vector<std::string>& words, const std::string& from, const std::string& to) {
  std::replace(words.begin(), words.end(), from, to);
}

void check_output(const NsysLine& line, CommandLint& lint, std::vector<std::string>& corrected) {
  const std::string* output = line.value_of("--output");
  if (output == nullptr) {
    if (starts_several(line.before)) {
      lint.findings.push_back({Severity::error, "nsys profile", "every rank writes the same report: only one is left",
                               "-o " + own_name(line.before)});
      corrected.insert(corrected.end(), {"-o", own_name(line.before)});
    }
    return;
  }
  std::string right = *output;
  if (right.ends_with(".qdrep")) {
    right = right.substr(0, right.size() - 6);
    lint.findings.push_back(
        {Severity::warning, "-o " + *output,
         "reports have been called .nsys-rep since 2021.4; nsys puts that behind the name by itself", "-o " + right});
  }
  if (starts_several(line.before) && right.find('%') == std::string::npos && right.find('$') == std::string::npos) {
    lint.findings.push_back({Severity::error, "-o " + *output, "every rank writes the same report: only one is left",
                             "-o " + right + "_" + own_name(line.before)});
    right += "_" + own_name(line.before);
  }
  replace(corrected, *output, right);
  replace(corrected, "--output=" + *output, "--output=" + right);
}

void check_range(const NsysLine& line, CommandLint& lint, std::vector<std::string>& corrected) {
  const std::string* range = line.value_of("--capture-range");
  const bool by_program = range != nullptr && (range->starts_with("cudaProfiler") || *range == "nvtx");
  if (by_program && line.value_of("--capture-range-end") == nullptr &&
      line.value_of("--stop-on-range-end") == nullptr) {
    lint.findings.push_back({Severity::info, "--capture-range",
                             "what happens at the end of the range is left to the version; with stop the job goes on",
                             "--capture-range-end=stop"});
    corrected.emplace_back("--capture-range-end=stop");
  }
  if (range != nullptr && range->starts_with("cudaProfiler"))
    lint.notes.emplace_back(
        "Nothing is recorded until the program itself opens the range: torch.cuda.cudart().cudaProfilerStart() before "
        "the "
        "first step that counts, cudaProfilerStop() behind the last.");
  if (line.value_of("--duration") != nullptr && line.value_of("--kill") == nullptr && !by_program)
    lint.notes.emplace_back("When --duration is over nsys ends the program too, unless --kill=none.");
}

void check_program(const NsysLine& line, CommandLint& lint) {
  if (line.given.rest.empty()) {
    lint.findings.push_back(
        {Severity::error, "nsys profile", "there is no program to profile", "nsys profile … python3 train.py"});
    return;
  }
  if (starts_several(line.given.rest)) {
    lint.findings.push_back({Severity::info, line.given.rest.front(),
                             "one report for all ranks of this host; ranks of other hosts are in none",
                             "nsys inside the launcher, for a report of each: torchrun --no-python … nsys profile -o "
                             "r%q{RANK} … python3 train.py"});
  }
  lint.notes.emplace_back(
      "gradsync-doctor analyze reads the report's export: nsys export --type=sqlite REPORT.nsys-rep");
}

Result<CommandLint> lint_profile(CommandLint lint, const ShellCommand& command) {
  auto table = option_table("nsys");
  if (!table) return table.error();
  NsysLine line{std::move(*table), command, {}, {}};
  const std::size_t at = position_of(command.words, "nsys");
  line.before.assign(command.words.begin(), command.words.begin() + static_cast<std::ptrdiff_t>(at));
  std::vector<std::string> behind(command.words.begin() + static_cast<std::ptrdiff_t>(at) + 1, command.words.end());
  const bool named = !behind.empty() && !behind[0].starts_with("-");
  if (named && behind[0] != "profile") {
    lint.findings.push_back({Severity::info, "nsys " + behind[0], "only nsys profile is checked", ""});
    return lint;
  }
  if (named)
    behind.erase(behind.begin());
  else
    lint.findings.push_back({Severity::error, "nsys", "nsys takes a command in front of its options", "nsys profile"});
  line.given = read_options(line.table, behind, Operands::end_the_options);
  check_environment(line, lint);
  OptionCheck options = check_options(line.table, line.given.options);
  lint.findings.insert(lint.findings.end(), options.findings.begin(), options.findings.end());
  check_range(line, lint, options.corrected);
  check_output(line, lint, options.corrected);
  check_program(line, lint);
  lint.notes.insert(lint.notes.end(), options.notes.begin(), options.notes.end());
  std::vector<std::string> words = line.before;
  words.insert(words.end(), {command.words[at], "profile"});
  words.insert(words.end(), options.corrected.begin(), options.corrected.end());
  words.insert(words.end(), line.given.rest.begin(), line.given.rest.end());
  const std::string right = written(line.command, words);
  if (!lint.findings.empty() && right != written(command, command.words)) lint.right = {right};
  return lint;
}

// What `-k`, `--kernel-name` or a launcher in the line say of collectives.
CommandLint lint_ncu(CommandLint lint, const ShellCommand& command) {
  constexpr const char* kWhy =
      "ncu runs a kernel several times; the peers of a collective do not, and all of them hang. Its occupancy says "
      "nothing "
      "either: a collective takes a few blocks by design";
  std::vector<std::string> words = command.words;
  bool filtered = false;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const bool long_form = words[i].starts_with("--kernel-name=") || words[i].starts_with("--kernel-regex=");
    const bool two_words = words[i] == "-k" || words[i] == "--kernel-name" || words[i] == "--kernel-regex";
    if (!long_form && !(two_words && i + 1 < words.size())) continue;
    filtered = true;
    std::string& word = long_form ? words[i] : words[i + 1];
    const bool names = word.find("nccl") != std::string::npos && word.find("(?!") == std::string::npos;
    if (!names) continue;
    lint.findings.push_back({Severity::error, long_form ? word : words[i] + " " + word, kWhy,
                             std::string("the kernels of the compression: -k '") + kKernels + "'"});
    word = std::string(long_form ? "--kernel-name=" : "") + kKernels;
  }
  if (!filtered && starts_several(words)) {
    lint.findings.push_back({Severity::error, "ncu", std::string("every kernel is taken, collectives too: ") + kWhy,
                             std::string("-k '") + kKernels + "'"});
    words.insert(words.begin() + static_cast<std::ptrdiff_t>(position_of(words, "ncu")) + 1, {"-k", kKernels});
  }
  if (!lint.findings.empty()) lint.right = {written(command, words)};
  return lint;
}

}  // namespace

Result<CommandLint> lint_nsys(const std::string& text) {
  const auto commands = split_shell(text);
  if (!commands) return commands.error();
  CommandLint lint{"nsys-command", 1, text, {}, {}, {}};
  for (const ShellCommand& command : *commands) {
    if (position_of(command.words, "nsys") < command.words.size()) return lint_profile(lint, command);
    if (position_of(command.words, "ncu") < command.words.size()) return lint_ncu(lint, command);
  }
  return Error{"no nsys and no ncu in the command", text, "", "--nsys 'nsys profile … python3 train.py'", 2};
}

}  // namespace gradsync
