#include "src/lint/shell_words.h"

#include <doctest/doctest.h>

#include <random>

#include "src/lint/command_lint.h"

namespace gradsync {
namespace {

std::vector<ShellCommand> split(const std::string& text) {
  auto commands = split_shell(text);
  REQUIRE_MESSAGE(commands, commands.error().message());
  return std::move(*commands);
}

using Words = std::vector<std::string>;

}  // namespace

TEST_CASE("words, quotes and backslashes") {
  const std::string texts[] = {"a b  c", "a 'b c' d", "a \"b \\\" c\"", "a\\ b c", "'it'\\''s'", "a \\\n b", "a '' b"};
  const Words expected[] = {{"a", "b", "c"}, {"a", "b c", "d"}, {"a", "b \" c"}, {"a b", "c"},
                            {"it's"},        {"a", "b"},        {"a", "", "b"}};
  for (std::size_t i = 0; i < std::size(texts); ++i) {
    CAPTURE(texts[i]);
    CHECK(split(texts[i])[0].words == expected[i]);
  }
}

TEST_CASE("assignments in front, redirections, and pipes") {
  const auto commands = split("A=1 B='x y' run -o=2 2>&1 >>log.txt | tee \"a b\" && next &>all; last 3> file &");
  REQUIRE(commands.size() == 4);
  CHECK(commands[0].assignments == std::vector<std::pair<std::string, std::string>>{{"A", "1"}, {"B", "x y"}});
  CHECK(commands[0].words == Words{"run", "-o=2"});
  REQUIRE(commands[0].redirections.size() == 2);
  CHECK(commands[0].redirections[0].operation == "2>&1");
  CHECK(commands[0].redirections[0].target.empty());
  CHECK(commands[0].redirections[1].operation == ">>");
  CHECK(commands[0].redirections[1].target == "log.txt");
  CHECK(commands[0].next == "|");
  CHECK(commands[1].words == Words{"tee", "a b"});
  CHECK(commands[2].redirections[0].operation == "&>");
  CHECK(commands[2].next == ";");
  CHECK(commands[3].redirections[0].target == "file");
  CHECK(commands[3].next == "&");
}

TEST_CASE("a loop is its words; nothing is expanded; comments are none of it") {
  const auto commands = split("for s in 1K 2K; do ./test -b $s $(nproc --all) `x y`; done # the end");
  REQUIRE(commands.size() == 3);
  CHECK(commands[0].words == Words{"for", "s", "in", "1K", "2K"});
  CHECK(commands[1].words == Words{"./test", "-b", "$s", "$(nproc --all)", "`x y`"});
  CHECK(commands[2].words == Words{"done"});
}

TEST_CASE("what was exported holds for what follows") {
  const auto commands = split("export A=1; run\nexport B=2 && run again");
  REQUIRE(commands.size() == 2);
  CHECK(commands[0].assignments.size() == 1);
  CHECK(commands[1].assignments.size() == 2);
}

TEST_CASE("a quote that is not closed is an error, and nothing at all is nothing") {
  const auto broken = split_shell("nsys 'profile");
  REQUIRE(!broken);
  CHECK(broken.error().exit_status == 2);
  CHECK(broken.error().why.find("not closed") != std::string::npos);
  CHECK(split("").empty());
  CHECK(split(" ;; \n").empty());
  CHECK(split(std::string(100000, 'x'))[0].words[0].size() == 100000);
}

TEST_CASE("whatever is typed, it is split and judged, or refused") {
  const std::vector<std::string> pieces{
      "nsys", " profile", " -t",  "=",        "'",    "\"",    "\\",  "$(",   "`",     ">",
      "2>&1", "&",        "|",    ";",        "\n",   "#",     " --", "cuda", ",",     " -g",
      " 1",   " ",        "\xff", "for s in", " do ", "_perf", " -b", "9",    " perf", " sched latency",
      " ncu", " -k"};
  std::mt19937 random(1);
  int judged = 0;
  for (int i = 0; i < 3000; ++i) {
    std::string text;
    for (std::size_t n = random() % 24; n > 0; --n) text += pieces[random() % pieces.size()];
    for (const auto lint : {lint_nsys, lint_nccl_tests, lint_perf})
      if (const auto found = lint(text)) judged += findings_of(*found).empty() ? 0 : 1;
  }
  CHECK(judged > 200);
}

TEST_CASE("words are quoted as far as a shell needs it") {
  const std::pair<const char*, const char*> cases[] = {
      {"--trace=cuda", "--trace=cuda"}, {"r%q{RANK}", "r%q{RANK}"}, {"$s", "$s"}, {"a b", "'a b'"},
      {"it's", "'it'\\''s'"},           {"a|b", "'a|b'"},           {"", "''"}};
  for (const auto& [word, written] : cases) CHECK(shell_word(word) == written);
}

}  // namespace gradsync
