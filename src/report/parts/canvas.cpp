#include "src/report/parts/canvas.h"

#include <algorithm>
#include <array>

#include "src/base/text.h"

namespace gradsync {
namespace {

bool is_unit(std::string_view word) {
  static constexpr std::array<std::string_view, 12> kUnits{"ms",  "µs",  "us",  "ns", "s", "min",
                                                           "KiB", "MiB", "GiB", "B",  "%", "GB/s"};
  while (!word.empty() && std::string_view(".,;:)").find(word.back()) != std::string_view::npos) word.remove_suffix(1);
  return std::find(kUnits.begin(), kUnits.end(), word) != kUnits.end();
}

}  // namespace

void Canvas::prose(std::string_view text, Paint paint, int gap) {
  const std::vector<std::string_view> words = split_words(text);
  std::size_t next = 0;
  while (next < words.size()) {
    std::string piece_text(words[next++]);
    const auto tie = [&] { piece_text.append(kNoBreak).append(words[next++]); };
    if (piece_text == "≥" && next < words.size()) tie();
    if (next + 1 < words.size() && words[next] == "…") tie(), tie();
    const bool number = piece_text.find_first_of("0123456789") != std::string::npos;
    if (number && next < words.size() && is_unit(words[next])) tie();
    piece(piece_text, paint, gap);
    gap = 1;
  }
}

}  // namespace gradsync
