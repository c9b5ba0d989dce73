// Pieces of Markdown from text that may hold anything.
#pragma once

#include <string>
#include <string_view>

namespace gradsync::markdown {

// On one line; what Markdown or HTML would read as markup becomes a character reference.
std::string plain(std::string_view text);

// As code: between backticks, or <code>…</code> where it holds one, or what parts the cells of a table.
std::string code(std::string_view text);

}  // namespace gradsync::markdown
