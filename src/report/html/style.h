// The page's style and script, constants of this program, and their SHA-256 in base64: the page's policy lets only text
// of these hashes run. tests/unit/report/html/check_html.py says what they must be after a change.
#pragma once

#include <string_view>

namespace gradsync {

std::string_view html_style();
std::string_view html_style_hash();
std::string_view html_script();
std::string_view html_script_hash();

}  // namespace gradsync
