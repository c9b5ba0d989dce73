#include "src/report/terminal/text_canvas.h"

#include <algorithm>

#include "src/base/text.h"

namespace gradsync {
namespace {

constexpr int kNarrowest = 40, kWidest = 160;

std::string_view sequence(Paint paint) {
  switch (paint) {
    case Paint::plain:
      return "";
    case Paint::strong:
      return "\x1b[1m";
    case Paint::faint:
      return "\x1b[2m";
    case Paint::good:
      return "\x1b[32m";
    case Paint::warning:
      return "\x1b[33m";
    case Paint::bad:
      return "\x1b[1;31m";
  }
  return "";
}

std::string no_break_to_space(std::string_view text) {
  std::string spaced;
  for (std::size_t at = text.find(kNoBreak); at != std::string_view::npos; at = text.find(kNoBreak)) {
    spaced.append(text.substr(0, at)).append(1, ' ');
    text.remove_prefix(at + kNoBreak.size());
  }
  return spaced.append(text);
}

}  // namespace

TextCanvas::TextCanvas(const TerminalOptions& options)
    : Canvas(options), width_(std::clamp(options.width, kNarrowest, kWidest)) {}

void TextCanvas::heading(std::string_view title, std::string_view remark) {
  start(0, 2);
  piece(title, Paint::strong, 1);
  prose(remark, Paint::faint, 2);
}

void TextCanvas::label(std::string_view word, int indent, int column, Paint paint) {
  constexpr int kClose = 6;  // columns that narrow terminals have
  const bool beside = !narrow() || column - indent <= kClose;
  start(indent, beside ? column : indent + 2);
  piece(word, paint, 1);
  if (beside) tab(column);
}

void TextCanvas::start(int indent, int hanging_indent) {
  end_line();
  hanging_ = hanging_indent;
  pad(indent);
}

void TextCanvas::piece(std::string_view text, Paint paint, int gap) { place(clean(text), paint, gap); }

void TextCanvas::tab(int column) {
  if (column <= column_) return;
  pad(column - column_);
  at_tab_ = true;
}

void TextCanvas::right(std::string_view text, Paint paint) {
  const std::string cleaned = clean(text);
  const int columns = display_width(cleaned);
  if (column_ + 3 + columns <= width_) tab(width_ - columns);
  place(cleaned, paint, 3);
}

void TextCanvas::blank() {
  end_line();
  if (!text_.empty() && !text_.ends_with("\n\n")) text_ += '\n';
}

std::string TextCanvas::take() {
  end_line();
  while (text_.ends_with("\n\n")) text_.pop_back();
  return std::move(text_);
}

// No-break spaces survive cleaning: they become spaces when they are printed.
std::string TextCanvas::clean(std::string_view text) const {
  if (options().charset == Charset::utf8) return escape_controls(text);
  std::string ascii;
  for (;;) {
    const std::size_t at = text.find(kNoBreak);
    ascii += to_ascii(escape_controls(text.substr(0, at)));
    if (at == std::string_view::npos) return ascii;
    ascii += kNoBreak;
    text.remove_prefix(at + kNoBreak.size());
  }
}

void TextCanvas::place(std::string_view text, Paint paint, int gap) {
  if (text.empty()) return;
  if (empty_line_ || at_tab_) gap = 0;
  const int columns = display_width(text);
  if (column_ + gap + columns <= width_) {
    pad(gap);
    put(text, paint);
    return;
  }
  const bool fits_below = columns <= width_ - hanging_;
  const std::size_t space = fits_below ? std::string_view::npos : text.find(' ');
  if (space != std::string_view::npos) {
    for (const std::string_view word : split_words(text)) {
      place(word, paint, gap);
      gap = 1;
    }
    return;
  }
  if (!empty_line_ && !(at_tab_ && column_ <= hanging_)) next_line();
  while (column_ + display_width(text) > width_) {
    const std::size_t bytes =
        std::max(prefix_of_width(text, width_ - column_), next_code_point(text).bytes);  // always some progress
    put(text.substr(0, bytes), paint);
    text.remove_prefix(bytes);
    next_line();
  }
  put(text, paint);
}

// A paint stays on over the gap to the next piece of the same paint.
void TextCanvas::put(std::string_view text, Paint paint) {
  set_paint(paint);
  line_ += no_break_to_space(text);
  column_ += display_width(text);
  empty_line_ = at_tab_ = false;
}

void TextCanvas::set_paint(Paint paint) {
  if (options().color == Color::off || paint == paint_) return;
  if (paint_ != Paint::plain) line_ += "\x1b[0m";
  line_ += sequence(paint);
  paint_ = paint;
}

void TextCanvas::pad(int columns) {
  line_.append(static_cast<std::size_t>(std::max(0, columns)), ' ');
  column_ += std::max(0, columns);
}

void TextCanvas::end_line() {
  set_paint(Paint::plain);
  if (!empty_line_) text_ += line_.substr(0, line_.find_last_not_of(' ') + 1) + "\n";
  line_.clear();
  column_ = 0;
  empty_line_ = true;
  at_tab_ = false;
}

void TextCanvas::next_line() {
  end_line();
  pad(hanging_);
}

}  // namespace gradsync
