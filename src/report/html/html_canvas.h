// A canvas of markup: headings, paragraphs, lists and pairs of a label and what it says. Beginning a line ends the one
// before; finish() ends all.
//
//   heading         <h3>            start(0, …)   <p>
//   label           <dl><dt> <dd>   start(2, …)   <ul><li>, or a line below what the label says
#pragma once

#include "src/report/html/markup.h"
#include "src/report/parts/canvas.h"

namespace gradsync {

class HtmlCanvas final : public Canvas {
 public:
  // `level` of its headings: "h2", "h3". A page has room for everything.
  explicit HtmlCanvas(Markup& page, std::string_view level = "h2", Verbosity verbosity = Verbosity::verbose);

  int width() const override { return 160; }
  void heading(std::string_view title, std::string_view remark) override;
  void start(int indent, int hanging_indent) override;
  void label(std::string_view word, int indent, int column, Paint paint) override;
  void piece(std::string_view text, Paint paint, int gap) override;
  void tab(int column) override;
  void right(std::string_view text, Paint paint) override;
  void blank() override;

  // Text goes into what the caller has opened, as one line.
  void inside();
  void finish();

 private:
  enum class Block { none, paragraph, list, pairs, inside };
  void end_line();
  void set_paint(Paint paint);

  Markup& page_;
  std::string level_;
  std::size_t base_ = 0;  // depth of the block's parent
  Block block_ = Block::none;
  int pair_indent_ = 0;
  bool line_open_ = false, empty_line_ = true;
  Paint paint_ = Paint::plain;
};

}  // namespace gradsync
