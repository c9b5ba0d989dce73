// Canvas: what the parts of the report (parts.h) are drawn on, whatever it is made of. Everything that is put on it is made
// harmless first, so that no part has to remember to. TextCanvas makes lines of a width of it, for terminals
// (text_canvas.h), and HtmlCanvas markup (src/report/html/html_canvas.h).
//
//   heading("COVERAGE", "")  a part begins
//   start(2, 6)              ··a piece, a second piece, and what does not fit goes on below
//                            ······the hanging indent
//   label("try", 5, 15)      ·····try·······begins at a column
#pragma once

#include <string>
#include <string_view>

#include "src/report/terminal.h"

namespace gradsync {

enum class Paint { plain, strong, faint, good, warning, bad };

// Keeps two words on one line; printed as a space.
inline constexpr std::string_view kNoBreak = "\u00a0";

class Canvas {
 public:
  explicit Canvas(const TerminalOptions& options) : options_(options) {}
  Canvas(const Canvas&) = delete;
  Canvas& operator=(const Canvas&) = delete;
  virtual ~Canvas() = default;

  virtual int width() const = 0;                // columns
  bool narrow() const { return width() < 64; }  // too narrow for columns
  const TerminalOptions& options() const { return options_; }

  // A line of its own that names what follows.
  virtual void heading(std::string_view title, std::string_view remark) = 0;
  // Begins a line, ending the one before. Later lines of the same paragraph begin at the hanging indent.
  virtual void start(int indent, int hanging_indent) = 0;
  // Begins a line with a word that says what the text behind it, from `column` on, is.
  virtual void label(std::string_view word, int indent, int column, Paint paint) = 0;
  // `text` behind what is there, `gap` columns away, or on the next line. It is broken at its spaces only when it does
  // not fit on a line of its own, and within words when even a word does not.
  virtual void piece(std::string_view text, Paint paint = Paint::plain, int gap = 1) = 0;
  // A text that may be broken at any white space. A number and its unit, and the ends of
  // a range, stay together.
  void prose(std::string_view text, Paint paint = Paint::plain, int gap = 1);
  // Moves to a column when it is still ahead; what follows begins there, whatever its gap.
  virtual void tab(int column) = 0;
  // A piece that ends at the right edge when it fits on this line.
  virtual void right(std::string_view text, Paint paint = Paint::plain) = 0;
  // An empty line; never two, never the first.
  virtual void blank() = 0;

 private:
  TerminalOptions options_;
};

}  // namespace gradsync
