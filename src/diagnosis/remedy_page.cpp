#include "src/diagnosis/remedy_page.h"

#include <algorithm>

namespace gradsync {

std::string RemedyPage::whatif_name() const {
  std::string name = id;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

Result<RemedyPage> parse_remedy(const RuleFile& file) {
  const Result<TomlNode> root = tree_of(file);
  if (!root) return root.error();
  TableReader reader(*root, file.name);
  RemedyPage page;
  page.id = reader.required_text("id");
  page.title = reader.required_text("title");
  page.what = reader.required_text("what");
  page.pays = reader.required_text("pays");
  page.how = reader.texts("how");
  page.pitfalls = reader.texts("pitfalls");
  page.hook = reader.text("hook");
  page.predicted = reader.required_text("predicted");
  page.source = reader.required_text("source");
  if (const auto error = reader.finish()) return *error;
  return page;
}

Result<std::vector<RemedyPage>> builtin_remedies() {
  std::vector<RemedyPage> pages;
  for (const RuleFile& file : builtin_remedy_files()) {
    auto page = parse_remedy(file);
    if (!page) return page.error();
    pages.push_back(std::move(*page));
  }
  return pages;
}

const RemedyPage* find_remedy(const std::vector<RemedyPage>& pages, std::string_view name) {
  const auto found = std::find_if(pages.begin(), pages.end(), [&](const RemedyPage& page) {
    return page.id == name || page.whatif_name() == name;
  });
  return found == pages.end() ? nullptr : &*found;
}

}  // namespace gradsync
