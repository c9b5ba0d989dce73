#include "src/diagnosis/toml_text.h"

#include <doctest/doctest.h>

#include "src/diagnosis/rule_set.h"

namespace gradsync {
namespace {

constexpr std::string_view kToml =
    "id = \"a\\nb:c\"\nlist = [1, 2.5, -3]\non = true\noff = false\n[[x]]\ny = { z = \"\" }\n";

}  // namespace

TEST_CASE("a tree that was written reads back as the same") {
  const auto parsed = parse_toml(kToml, "a.toml");
  REQUIRE(parsed);
  const std::string text = write_toml_tree(*parsed);
  const auto read = read_toml_tree(text);
  REQUIRE(read);
  CHECK(write_toml_tree(*read) == text);
  CHECK(read->find("id")->text == "a\nb:c");
  CHECK(read->find("id")->line == 1);
  CHECK(read->find("list")->items.at(1).number == 2.5);
  CHECK(read->find("on")->truth);
  CHECK_FALSE(read->find("off")->truth);
  CHECK(read->find("x")->items.at(0).find("y")->find("z")->kind == TomlNode::Kind::text);
}

TEST_CASE("what is no tree, or only a part of one, is refused") {
  const std::string text = write_toml_tree(*parse_toml(kToml, "a.toml"));
  for (std::size_t size = 0; size < text.size(); ++size) CHECK_FALSE(read_toml_tree(text.substr(0, size)));
  CHECK_FALSE(read_toml_tree(text + "x"));
  CHECK_FALSE(read_toml_tree("id = \"a\"\n"));
  std::string deep;
  for (int i = 0; i < 100000; ++i) deep += "a1 1\n";
  CHECK_FALSE(read_toml_tree(deep));
}

TEST_CASE("the built-in rules' trees are what their texts say") {
  for (const RuleFile& file : builtin_rule_files()) {
    CAPTURE(file.name);
    const auto parsed = parse_toml(file.text, file.name);
    REQUIRE(parsed);
    CHECK(write_toml_tree(*parsed) == file.tree);
  }
}

}  // namespace gradsync
