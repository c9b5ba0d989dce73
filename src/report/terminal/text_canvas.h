// A canvas of lines of text, no wider than the options say. For ASCII terminals it transliterates.
#pragma once

#include "src/report/parts/canvas.h"

namespace gradsync {

class TextCanvas final : public Canvas {
 public:
  explicit TextCanvas(const TerminalOptions& options);

  int width() const override { return width_; }
  void heading(std::string_view title, std::string_view remark) override;
  void start(int indent, int hanging_indent) override;
  void label(std::string_view word, int indent, int column, Paint paint) override;
  void piece(std::string_view text, Paint paint, int gap) override;
  void tab(int column) override;
  void right(std::string_view text, Paint paint) override;
  void blank() override;

  std::string take();

 private:
  std::string clean(std::string_view text) const;
  void place(std::string_view cleaned, Paint paint, int gap);
  void put(std::string_view cleaned, Paint paint);
  void set_paint(Paint paint);
  void pad(int columns);
  void end_line();
  void next_line();

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
