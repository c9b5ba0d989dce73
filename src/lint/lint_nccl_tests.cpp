// nccl-tests-command: all_reduce_perf and its like, with their launcher, their loop and what becomes of their output.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "src/base/text.h"
#include "src/base/units.h"
#include "src/lint/command_lint.h"

namespace gradsync {
namespace {

constexpr int kLeastIterations = 5;

bool is_test(std::string_view word) {
  const std::string_view program = program_name(word);
  return program.ends_with("_perf") || program.ends_with("_perf_mpi");
}

// Nothing for "$RANKS".
std::optional<int> whole_number(const std::string& text) {
  if (text.empty() || text.size() > 9 || text.find_first_not_of("0123456789") != std::string::npos) return std::nullopt;
  return std::atoi(text.c_str());
}

struct Line {
  OptionTable table;
  std::vector<ShellCommand> commands;
  std::size_t which = 0;            // of the commands: the test
  std::vector<std::string> before;  // its launcher
  std::string program;
  GivenOptions given;
  std::vector<std::string> loop;  // for NAME in WORDS…: name first; empty: no loop

  const ShellCommand& command() const { return commands[which]; }
  const std::string* value_of(std::string_view name) const {
    for (const GivenOption& option : given.options)
      if (option.known != nullptr && option.known->name == name && option.value) return &*option.value;
    return nullptr;
  }
  std::optional<int> number(std::string_view name, int otherwise) const {
    const std::string* value = value_of(name);
    return value == nullptr ? otherwise : whole_number(*value);
  }
};

// Processes that the launcher starts; nothing: it does not say.
std::optional<int> processes(const std::vector<std::string>& before) {
  constexpr std::string_view kLaunchers[] = {"mpirun", "mpiexec", "srun", "orterun"};
  bool launched = false;
  for (std::size_t i = 0; i < before.size(); ++i) {
    launched |=
        std::find(std::begin(kLaunchers), std::end(kLaunchers), program_name(before[i])) != std::end(kLaunchers);
    for (const std::string_view name : {"-np", "-n", "--np", "-c", "--ntasks"}) {
      if (name == "-c" && program_name(before[0]) == "srun") continue;  // CPUs for each task there
      if (before[i] == name && i + 1 < before.size()) return whole_number(before[i + 1]);
      if (before[i].starts_with(std::string(name) + "=")) return whole_number(before[i].substr(name.size() + 1));
    }
  }
  return launched ? std::nullopt : std::optional(1);
}

void set(std::vector<std::string>& words, const KnownOption& option, const std::string& value) {
  for (std::size_t i = 0; i + 1 < words.size(); ++i)
    if (words[i] == option.name ||
        std::find(option.spelt.begin(), option.spelt.end(), words[i]) != option.spelt.end()) {
      words[i + 1] = value;
      return;
    }
  for (std::string& word : words)
    for (const std::string& spelt : option.spelt)
      if (word.starts_with(spelt + "=")) {
        word = spelt + "=" + value;
        return;
      }
  words.insert(words.end(), {option.name, value});
}

class NcclTests {
 public:
  NcclTests(Line line, CommandLint& lint) : line_(std::move(line)), lint_(lint) {}

  void check() {
    OptionCheck options = check_options(line_.table, line_.given.options);
    lint_.findings = std::move(options.findings);
    words_ = std::move(options.corrected);
    ranks();
    lost_redirections();
    sizes();
    repeats();
    output();
    write();
    lint_.notes.emplace_back(
        "gradsync-doctor analyze LOG judges every size of such a log; gradsync-doctor sweep measures by itself.");
  }

 private:
  void say(Severity severity, std::string word, std::string says, std::string fix = "") {
    lint_.findings.push_back({severity, std::move(word), std::move(says), std::move(fix)});
  }

  void ranks() {
    const auto started = processes(line_.before), threads = line_.number("-t", 1), gpus = line_.number("-g", 1);
    if (!started || !threads || !gpus) {
      say(Severity::info, line_.program,
          "how many ranks there will be is not known from the command: the log's head tells");
      return;
    }
    if (*started * *threads * *gpus != 1) return;
    say(Severity::error, line_.value_of("-g") != nullptr ? "-g 1" : line_.program,
        "one process with one GPU is one rank: nothing is communicated, and the times mean nothing",
        "-g GPUS in one process, or mpirun -np RANKS … -g 1 with the MPI build");
    set(words_, *line_.table.find("-g"), "8");
    lint_.notes.emplace_back("-g 8 stands for the number of GPUs of the host; nvidia-smi -L counts them.");
  }

  void lost_redirections() {
    for (const std::string& word : line_.given.rest)
      say(Severity::error, word,
          "nccl-tests takes no such argument" +
              std::string(word.find('.') != std::string::npos ? ": was a > in front of it lost?" : ""),
          word.find('.') != std::string::npos ? "> " + word : "");
    for (const std::string& word : line_.given.rest)
      if (word.find('.') != std::string::npos && log_.empty()) log_ = word;
  }

  void sizes() {
    const std::string *least = line_.value_of("-b"), *most = line_.value_of("-e");
    if (!line_.loop.empty()) {
      const auto [from, to] = looped();
      say(Severity::warning, "for " + line_.loop[0],
          "each size starts the program anew: one initialisation for each, and sizes are not compared within one run",
          fmt::format("one run: -b {} -e {} -f 2", from, to));
      set(words_, *line_.table.find("-b"), from);
      set(words_, *line_.table.find("-e"), to);
      set(words_, *line_.table.find("-f"), "2");
      return;
    }
    const auto smallest = least != nullptr ? parse_bytes(*least) : Result<std::int64_t>(Error{});
    const auto largest = most != nullptr ? parse_bytes(*most) : Result<std::int64_t>(Error{});
    if (smallest && largest && *smallest > *largest)
      say(Severity::error, "-b " + *least + " -e " + *most, "the smallest size is above the largest");
    const bool several = !smallest || !largest || *smallest != *largest;
    if (several && line_.value_of("-f") == nullptr && line_.value_of("-i") == nullptr) {
      say(Severity::warning, line_.program, "sizes grow by a fixed step, which is 1 MiB: small messages are left out",
          "-f 2");
      set(words_, *line_.table.find("-f"), "2");
    }
  }

  // The first and the last of the loop's words, where they are sizes; else what covers gradients.
  std::pair<std::string, std::string> looped() const {
    std::vector<std::pair<std::int64_t, std::string>> sizes;
    for (std::size_t i = 1; i < line_.loop.size(); ++i)
      if (const auto bytes = parse_bytes(line_.loop[i])) sizes.emplace_back(*bytes, line_.loop[i]);
    if (sizes.empty()) return {"8", "128M"};
    const auto [smallest, largest] = std::minmax_element(sizes.begin(), sizes.end());
    return {smallest->second, largest->second};
  }

  void repeats() {
    if (const auto iterations = line_.number("-n", 20); iterations && *iterations < kLeastIterations) {
      say(Severity::warning, fmt::format("-n {}", *iterations), "too few iterations for a mean that can be trusted",
          "-n 20");
      set(words_, *line_.table.find("-n"), "20");
    }
    if (line_.number("-w", 5) == 0) {
      say(Severity::warning, "-w 0", "without warm-up the first iteration's connections are counted", "-w 5");
      set(words_, *line_.table.find("-w"), "5");
    }
    if (line_.number("-c", 1) == 0) {
      say(Severity::warning, "-c 0", "results are not checked: a wrong sum is fast too", "-c 1");
      set(words_, *line_.table.find("-c"), "1");
    }
  }

  void output() {
    const ShellCommand& command = line_.command();
    for (std::size_t i = line_.which + 1; i < line_.commands.size() && line_.commands[i - 1].next.starts_with("|"); ++i)
      for (const std::string& word : line_.commands[i].words) {
        if (word.find("Avg bus bandwidth") != std::string::npos)
          say(Severity::warning, word, "a mean over all sizes, small and large: it says nothing about any of them",
              "keep the rows: > nccl_tests.log");
        if (word.find("Avg time") != std::string::npos)
          say(Severity::error, word, "nccl-tests prints no such line", "keep the rows: > nccl_tests.log");
      }
    for (const Redirection& redirection : command.redirections) {
      if (log_.empty() && !redirection.target.empty()) log_ = redirection.target;
      if (!line_.loop.empty() && (redirection.operation == ">" || redirection.operation == "&>"))
        say(Severity::error, "> " + redirection.target, "inside the loop each size overwrites the one before",
            "the loop is not needed; else >> " + redirection.target);
    }
    if (command.redirections.empty() && command.next != "|" && log_.empty()) unkept_ = true;
    if (unkept_) say(Severity::info, line_.program, "the rows go to the terminal alone", "> nccl_tests.log");
  }

  void write() {
    std::vector<std::string> words = line_.before;
    words.push_back(line_.program);
    words.insert(words.end(), words_.begin(), words_.end());
    ShellCommand one{line_.command().assignments, {}, {{">", log_.empty() ? "nccl_tests.log" : log_}}, ""};
    const bool graver = std::any_of(lint_.findings.begin(), lint_.findings.end(),
                                    [](const LintFinding& found) { return found.severity != Severity::info; });
    if (graver || unkept_) lint_.right = {written(one, words)};
  }

  Line line_;
  CommandLint& lint_;
  std::vector<std::string> words_;
  std::string log_;
  bool unkept_ = false;  // nobody writes the rows to a file
};

}  // namespace

Result<CommandLint> lint_nccl_tests(const std::string& text) {
  auto table = option_table("nccl_tests");
  if (!table) return table.error();
  auto commands = split_shell(text);
  if (!commands) return commands.error();
  CommandLint lint{"nccl-tests-command", 2, text, {}, {}, {}};
  Line line;
  line.table = std::move(*table);
  line.commands = std::move(*commands);
  for (line.which = 0; line.which < line.commands.size(); ++line.which) {
    const std::vector<std::string>& words = line.command().words;
    if (words.size() > 2 && words[0] == "for" && words[2] == "in") {
      line.loop.assign(1, words[1]);
      line.loop.insert(line.loop.end(), words.begin() + 3, words.end());
    }
    const auto test = std::find_if(words.begin(), words.end(), is_test);
    if (test == words.end()) continue;
    line.before.assign(words.begin(), test);
    line.program = *test;
    line.given = read_options(line.table, {test + 1, words.end()}, Operands::may_stand_between);
    NcclTests(std::move(line), lint).check();
    return lint;
  }
  return Error{"no program of nccl-tests in the command", text, "",
               "--nccl-tests './build/all_reduce_perf -b 8 -e 128M -f 2 -g 8'", 2};
}

}  // namespace gradsync
