// Canvas: text that flows into lines of a width. Everything that is put on it is made harmless and, for ASCII
// terminals, transliterated first, so that no renderer has to remember to.
//
//   start(2, 6)            ··a piece, a second piece, and what does not fit goes on below
//                          ······the hanging indent
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
  explicit Canvas(const TerminalOptions& options);

  int width() const { return width_; }
  bool narrow() const { return width_ < 64; }  // too narrow for columns
  const TerminalOptions& options() const { return options_; }

  // Begins a line, ending the one before. Later lines of the same paragraph begin at the hanging indent.
  void start(int indent, int hanging_indent);
  // `text` behind what is there, `gap` columns away, or on the next line. It is broken at its spaces only when it does
  // not fit on a line of its own, and within words when even a word does not.
  void piece(std::string_view text, Paint paint = Paint::plain, int gap = 1);
  // A text that may be broken at any white space. A number and its unit, and the ends of
  // a range, stay together.
  void prose(std::string_view text, Paint paint = Paint::plain, int gap = 1);
  // Moves to a column when it is still ahead; what follows begins there, whatever its gap.
  void tab(int column);
  // A piece that ends at the right edge when it fits on this line.
  void right(std::string_view text, Paint paint = Paint::plain);
  // An empty line; never two, never the first.
  void blank();

  std::string take();

 private:
  std::string clean(std::string_view text) const;
  void place(std::string_view cleaned, Paint paint, int gap);
  void put(std::string_view cleaned, Paint paint);
  void set_paint(Paint paint);
  void pad(int columns);
  void end_line();
  void next_line();

  TerminalOptions options_;
  int width_;
  int hanging_ = 0;
  int column_ = 0;
  bool empty_line_ = true;  // nothing but indentation on this line
  bool at_tab_ = false;
  Paint paint_ = Paint::plain;
  std::string line_;
  std::string text_;
};

}  // namespace gradsync
