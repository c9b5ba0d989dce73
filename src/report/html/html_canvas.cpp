#include "src/report/html/html_canvas.h"

namespace gradsync {
namespace {

constexpr std::string_view kWideGap = "\u2003";

std::string_view class_of(Paint paint) {
  switch (paint) {
    case Paint::plain:
      return "";
    case Paint::strong:
      return "strong";
    case Paint::faint:
      return "faint";
    case Paint::good:
      return "good";
    case Paint::warning:
      return "warning";
    case Paint::bad:
      return "bad";
  }
  return "";
}

TerminalOptions wide(Verbosity verbosity) {
  TerminalOptions options;
  options.width = 160;
  options.verbosity = verbosity;
  return options;
}

}  // namespace

HtmlCanvas::HtmlCanvas(Markup& page, std::string_view level, Verbosity verbosity)
    : Canvas(wide(verbosity)), page_(page), level_(level) {
  base_ = page.depth();
}

void HtmlCanvas::heading(std::string_view title, std::string_view remark) {
  finish();
  page_.element(level_, {{"id", page_.id(title)}, {"class", "small"}}, title);
  if (!remark.empty()) page_.element("p", {{"class", "faint"}}, remark);
}

void HtmlCanvas::start(int indent, int) {
  if (block_ == Block::inside) {
    if (!empty_line_) page_.empty("br");
    empty_line_ = true;
    return;
  }
  if (block_ == Block::pairs && indent > pair_indent_) {
    set_paint(Paint::plain);
    if (!empty_line_) page_.empty("br");
    empty_line_ = true;
    return;
  }
  end_line();
  const Block wanted = indent > 0 ? Block::list : Block::paragraph;
  if (wanted != block_ || wanted == Block::paragraph) finish();
  if (wanted == Block::list && block_ != Block::list) page_.open("ul", {{"class", "lines"}});
  page_.open(wanted == Block::list ? "li" : "p", indent > 4 ? Attributes{{"class", "deep"}} : Attributes{});
  block_ = wanted;
  line_open_ = true;
}

void HtmlCanvas::label(std::string_view word, int indent, int, Paint) {
  end_line();
  if (block_ != Block::pairs) {
    finish();
    page_.open("dl");
    block_ = Block::pairs;
  }
  pair_indent_ = indent;
  page_.element("dt", {}, word);
  page_.open("dd");
  line_open_ = true;
}

void HtmlCanvas::piece(std::string_view text, Paint paint, int gap) {
  if (text.empty()) return;
  if (!line_open_ && block_ != Block::inside) start(0, 0);
  if (paint != paint_) set_paint(Paint::plain);
  if (!empty_line_ && gap > 0) page_.text(gap > 1 ? kWideGap : " ");
  set_paint(paint);
  page_.text(text);
  empty_line_ = false;
}

void HtmlCanvas::tab(int) {}

void HtmlCanvas::right(std::string_view text, Paint paint) { piece(text, paint, 3); }

void HtmlCanvas::blank() {
  if (block_ != Block::inside) finish();
}

void HtmlCanvas::inside() {
  finish();
  block_ = Block::inside;
}

void HtmlCanvas::finish() {
  set_paint(Paint::plain);
  page_.close_to(base_);
  block_ = Block::none;
  line_open_ = false;
  empty_line_ = true;
}

void HtmlCanvas::end_line() {
  set_paint(Paint::plain);
  if (line_open_) page_.close();
  line_open_ = false;
  empty_line_ = true;
}

void HtmlCanvas::set_paint(Paint paint) {
  if (paint == paint_) return;
  if (paint_ != Paint::plain) page_.close();
  paint_ = paint;
  if (paint != Paint::plain) page_.open("span", {{"class", std::string(class_of(paint))}});
}

}  // namespace gradsync
