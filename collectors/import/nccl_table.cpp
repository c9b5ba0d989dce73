#include "collectors/import/nccl_table.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

#include "src/base/text.h"

namespace gradsync {
namespace {

constexpr std::size_t kMostWords = 64;  // the widest table has 22 columns

bool digits(std::string_view text) {
  return !text.empty() && text.size() <= 18 &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

bool is_type(std::string_view word) {
  return word.size() <= 16 && !word.empty() && word[0] >= 'a' && word[0] <= 'z' && word != "nan" && word != "inf";
}

bool is_number(std::string_view word) {
  return std::isfinite(table_number(word)) || word == "N/A" || word == "nan" || word == "-nan" || word == "inf";
}

std::int64_t whole(std::string_view text) {
  std::int64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

// "#size" and "# size" alike. Words keep their place in the line.
std::vector<std::string_view> header_words(std::string_view line) {
  std::vector<std::string_view> words = split_words(line);
  for (std::string_view& word : words)
    if (word.size() > 1 && word[0] == '#' && word != "#wrong") word.remove_prefix(1);
  return words;
}

bool is_time(std::string_view word) { return word == "time" || word == "cputime"; }

}  // namespace

bool TableLayout::has(std::string_view fact) const {
  return std::any_of(facts.begin(), facts.end(), [&](const TableColumn& column) { return column.name == fact; });
}

double table_number(std::string_view cell) {
  if (cell.ends_with('*')) cell.remove_suffix(1);
  double value = 0;
  const auto [end, failed] = std::from_chars(cell.data(), cell.data() + cell.size(), value);
  if (failed != std::errc{} || end != cell.data() + cell.size() || !std::isfinite(value))
    return std::numeric_limits<double>::quiet_NaN();
  return value;
}

std::optional<TableLayout> table_layout(std::string_view line, std::string_view line_before) {
  if (line.find("algbw") == std::string_view::npos || line.find("busbw") == std::string_view::npos) return std::nullopt;
  const std::vector<std::string_view> words = header_words(line);
  if (words.size() > kMostWords) return std::nullopt;
  const auto size =
      std::find_if(words.begin(), words.end(), [](std::string_view w) { return w == "size" || w == "bytes"; });
  if (words.end() - size < 6 || (size[1] != "count" && size[1] != "N") || size[2] != "type") return std::nullopt;
  TableLayout layout;
  layout.leading_words =
      static_cast<std::size_t>(std::count_if(words.begin(), size, [](std::string_view w) { return w != "#"; }));
  for (auto word = size; word != words.end(); ++word) {
    if (*word == "timestamp") break;
    const TableColumn column{std::string(*word), static_cast<std::size_t>(word->data() + word->size() - line.data())};
    if (is_time(*word)) layout.groups.emplace_back();
    (layout.groups.empty() ? layout.facts : layout.groups.back()).push_back(column);
  }
  if (layout.groups.empty() || layout.groups.size() > 2) return std::nullopt;
  layout.only_in_place = layout.groups.size() == 1 && line_before.find("in-place") != std::string_view::npos &&
                         line_before.find("out-of-place") == std::string_view::npos;
  return layout;
}

TimeUnit time_unit(std::string_view line) {
  if (line.find("(us)") != std::string_view::npos) return TimeUnit::microseconds;
  if (line.find("(ms)") != std::string_view::npos) return TimeUnit::milliseconds;
  return TimeUnit::unknown;
}

bool TableRow::begin(std::string_view text, const TableLayout& layout) {
  const std::vector<std::string_view> words = split_words(text);
  const std::size_t first = layout.leading_words;
  if (words.size() < first + 3 || words.size() > kMostWords) return false;
  if (!digits(words[first]) || !digits(words[first + 1]) || !is_type(words[first + 2])) return false;
  words_.assign(words.begin() + static_cast<std::ptrdiff_t>(first), words.end());
  end_ = static_cast<std::size_t>(words.back().data() + words.back().size() - text.data());
  pieces_ = 1;
  return true;
}

bool TableRow::add(std::string_view text) {
  const std::vector<std::string_view> words = split_words(text);
  if (words.empty() || words.size() + words_.size() > kMostWords) return false;
  if (!std::all_of(words.begin(), words.end(), is_number)) return false;
  words_.insert(words_.end(), words.begin(), words.end());
  ++pieces_;
  return true;
}

// How many of the first words are facts: a blank reduction is followed by a number.
std::size_t TableRow::fact_words(const TableLayout& layout) const {
  std::size_t facts = 3;
  const bool redop = layout.has("redop") || layout.has("op");
  if (redop && words_.size() > facts && !is_number(words_[facts]) && words_[facts][0] != 'X') ++facts;
  if (layout.has("root")) ++facts;
  return facts;
}

bool TableRow::complete(const TableLayout& layout) const {
  std::size_t needed = fact_words(layout);
  for (const auto& group : layout.groups) needed += group.size();
  return words_.size() >= needed;
}

std::optional<TableLine> TableRow::take(const TableLayout& layout) {
  const std::size_t facts = fact_words(layout);
  const bool whole_row = complete(layout);
  std::vector<std::string> words;
  words.swap(words_);
  if (words.size() < 3) return std::nullopt;
  TableLine line{whole(words[0]), whole(words[1]), words[2], "", "", {}, {}};
  std::size_t next = 3;
  if (next < facts && (facts == 5 || !layout.has("root"))) line.redop = words.size() > next ? words[next++] : "";
  if (layout.has("root") && words.size() > next) line.root = words[next++];

  // One group alone is the one under whose header it ends; in pieces, it is the first that was written.
  std::size_t group = 0;
  if (!whole_row && layout.groups.size() == 2 && pieces_ == 1 && words.size() == facts + layout.groups[0].size()) {
    const auto distance = [&](std::size_t end) { return end > end_ ? end - end_ : end_ - end; };
    if (distance(layout.groups[1].back().end) < distance(layout.groups[0].back().end)) group = 1;
  }
  const bool second_is_in = layout.groups.size() == 2;
  for (; group < layout.groups.size(); ++group) {
    const auto& columns = layout.groups[group];
    if (words.size() < next + columns.size()) break;
    TableCells& cells = (second_is_in ? group == 1 : layout.only_in_place) ? line.in : line.out;
    constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
    cells = {true, kNone, kNone, kNone, kNone, kNone, kNone};
    for (const TableColumn& column : columns) {
      const double value = table_number(words[next++]);
      if (column.name == "time") cells.time = value;
      if (column.name == "algbw") cells.algbw = value;
      if (column.name == "busbw") cells.busbw = value;
      if (column.name == "#wrong") cells.wrong = value;
      if (column.name == "error" || column.name == "res") cells.error = value;
      if (column.name == "i_p99") cells.p99 = value;
    }
  }
  if (!line.out.present && !line.in.present) return std::nullopt;
  return line;
}

}  // namespace gradsync
