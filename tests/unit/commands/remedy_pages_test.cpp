// Pages of remedies, what what-if calls them, the hooks that they name, and the rules that send people there.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>

#include "analyzers/predict/remedies.h"
#include "src/diagnosis/remedy_page.h"

namespace gradsync {
namespace {

std::vector<RemedyPage> pages() {
  auto found = builtin_remedies();
  REQUIRE_MESSAGE(found, found.error().message());
  return std::move(*found);
}

}  // namespace

TEST_CASE("four remedies have pages, and what-if knows each by its name") {
  const std::vector<RemedyPage> known = pages();
  CHECK(known.size() == 4);
  const std::vector<Remedy> predicted = remedies(Job{}, {}, std::nullopt, {});
  for (const RemedyPage& page : known) {
    CAPTURE(page.id);
    CHECK(std::count_if(predicted.begin(), predicted.end(),
                        [&](const Remedy& remedy) { return remedy.name == page.whatif_name(); }) == 1);
    const auto named = std::find_if(predicted.begin(), predicted.end(),
                                    [&](const Remedy& remedy) { return remedy.name == page.whatif_name(); });
    CHECK(named->needs.find("explain " + page.id) != std::string::npos);
    CHECK(find_remedy(known, page.id) == &page);
    CHECK(find_remedy(known, page.whatif_name()) == &page);
    CHECK_FALSE(page.how.empty());
    CHECK_FALSE(page.pitfalls.empty());
    if (!page.hook.empty()) CHECK(std::filesystem::exists(std::filesystem::path(GSD_SAMPLES) / "remedies" / page.hook));
  }
  CHECK(find_remedy(known, "no-such") == nullptr);
}

TEST_CASE("a rule's advice names each page") {
  const auto rules = builtin_rules();
  REQUIRE(rules);
  for (const RemedyPage& page : pages()) {
    CAPTURE(page.id);
    const bool named = std::any_of(rules->rules.begin(), rules->rules.end(), [&](const Rule& rule) {
      return std::any_of(rule.advice.begin(), rule.advice.end(), [&](const std::string& advice) {
        return advice.find("explain " + page.id) != std::string::npos;
      });
    });
    CHECK(named);
  }
}

TEST_CASE("a broken page is an error with file and line") {
  const auto page = parse_remedy({"x.toml", "id = \"x\"\ncolour = 1"});
  REQUIRE(!page);
  CHECK(page.error().message().find("x.toml") != std::string::npos);
}

}  // namespace gradsync
