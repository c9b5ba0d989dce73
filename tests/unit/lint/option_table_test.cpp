#include "src/lint/option_table.h"

#include <doctest/doctest.h>

#include <algorithm>

namespace gradsync {
namespace {

constexpr const char* kTable = R"(
program = "tool"
source  = "its page"
option = [ { name = "--trace", spelt = ["-t"], takes = "list", values = ["cuda", "nvtx"], since = { nvtx = "2.0" } },
           { name = "--duration", spelt = ["-d"], takes = "number" },
           { name = "--help", takes = "nothing" } ]
[[mistake]]
option = "--trace"
value  = "nvsmi"
says   = "no such thing"
)";

OptionTable table() {
  auto parsed = parse_option_table({"tool.toml", kTable});
  REQUIRE_MESSAGE(parsed, parsed.error().message());
  return std::move(*parsed);
}

std::string error_of(const std::string& text) {
  const auto parsed = parse_option_table({"tool.toml", text});
  REQUIRE(!parsed);
  return parsed.error().message();
}

}  // namespace

TEST_CASE("options are read in every spelling, and what ends them is left over") {
  const OptionTable known = table();
  const auto given =
      read_options(known, {"-t", "cuda", "--trace=nvtx", "--duration60", "-d9", "--what", "app", "-t", "x"},
                   Operands::end_the_options);
  REQUIRE(given.options.size() == 5);
  CHECK(given.options[0].value == "cuda");
  CHECK(given.options[1].value == "nvtx");
  CHECK(given.options[2].glued);
  CHECK(given.options[2].value == "60");
  CHECK(given.options[3].value == "9");
  CHECK(given.options[4].known == nullptr);
  CHECK(given.rest == std::vector<std::string>{"app", "-t", "x"});
}

TEST_CASE("the nearest spelling is found, within reason") {
  const OptionTable known = table();
  CHECK(known.nearest("--trce") == "--trace");
  CHECK(known.nearest("--durations") == "--duration");
  CHECK_FALSE(known.nearest("--elsewhere"));
  CHECK_FALSE(known.nearest("-q"));
}

TEST_CASE("a broken table is an error with file and line") {
  CHECK(error_of("program = ").find("tool.toml:1") != std::string::npos);
  CHECK(error_of("program = \"a\"").find("source") != std::string::npos);
  CHECK(error_of("program = \"a\"\nsource = \"b\"\ncolour = 1").find("tool.toml:3") != std::string::npos);
  CHECK(
      error_of("program = \"a\"\nsource = \"b\"\noption = [{ name = \"-x\", takes = \"colours\" }]").find("colours") !=
      std::string::npos);
  CHECK(error_of("program = \"a\"\nsource = \"b\"\noption = [{ name = \"-x\", takes = \"list\" }]").find("values") !=
        std::string::npos);
}

TEST_CASE("every built-in table is whole: no spelling twice, no mistake about an option's right value") {
  CHECK(builtin_command_tables().size() >= 3);
  for (const RuleFile& file : builtin_command_tables()) {
    CAPTURE(file.name);
    const auto parsed = parse_option_table(file);
    REQUIRE_MESSAGE(parsed, parsed.error().message());
    std::vector<std::string> spellings;
    for (const KnownOption& option : parsed->options) {
      spellings.push_back(option.name);
      spellings.insert(spellings.end(), option.spelt.begin(), option.spelt.end());
      for (const auto& [value, version] : option.since)
        if (!value.empty()) CHECK(std::find(option.values.begin(), option.values.end(), value) != option.values.end());
    }
    std::sort(spellings.begin(), spellings.end());
    CHECK(std::adjacent_find(spellings.begin(), spellings.end()) == spellings.end());
    for (const KnownMistake& mistake : parsed->mistakes)
      if (const KnownOption* option = parsed->find(mistake.option); option != nullptr && !mistake.instead.empty())
        CHECK(std::find(option->values.begin(), option->values.end(), mistake.instead) != option->values.end());
  }
  CHECK_FALSE(option_table("no such"));
}

}  // namespace gradsync
