#include "src/hosttext/interrupts.h"

#include <algorithm>
#include <cctype>
#include <utility>

#include "src/base/text.h"
#include "src/hosttext/numbers.h"

namespace gradsync {
namespace {

constexpr std::size_t kMostCpus = 16384, kLongestId = 16, kLongestHandlers = 256;

// The next word of `rest`, taken off it.
std::string_view take_word(std::string_view& rest) {
  const std::size_t first = rest.find_first_not_of(" \t\r");
  if (first == std::string_view::npos) return rest = {};
  rest.remove_prefix(first);
  const std::size_t length = std::min(rest.find_first_of(" \t\r"), rest.size());
  const std::string_view word = rest.substr(0, length);
  rest.remove_prefix(length);
  return word;
}

std::vector<int> cpus_of_header(std::string_view line) {
  std::vector<int> cpus;
  for (std::string_view word = take_word(line); !word.empty(); word = take_word(line)) {
    if (!word.starts_with("CPU")) return {};
    const auto number = parse_unsigned(word.substr(3));
    if (!number || *number >= 1'000'000 || cpus.size() == kMostCpus) return {};
    cpus.push_back(static_cast<int>(*number));
  }
  return cpus;
}

// How the chip numbers the line: "2-edge", "512000-edge", "27", "Level".
bool is_chip_line(std::string_view word) {
  if (parse_unsigned(word) || word == "Level" || word == "Edge" || word == "None") return true;
  const std::size_t digits = word.find_first_not_of("0123456789");
  if (digits == 0 || digits == std::string_view::npos || word[digits] != '-') return false;
  const std::string_view kind = word.substr(digits + 1);
  return std::all_of(kind.begin(), kind.end(), [](char c) { return (c >= 'a' && c <= 'z') || c == '_'; });
}

// What follows the counts of an interrupt line: chip, perhaps its line, then the handlers.
std::string handlers_of(std::string_view rest) {
  take_word(rest);
  for (std::string_view after = rest; is_chip_line(take_word(after));) rest = after;
  return std::string(trim(rest).substr(0, kLongestHandlers));
}

}  // namespace

bool is_interrupts_header(std::string_view line) { return !cpus_of_header(line).empty(); }

std::optional<InterruptSnapshot> InterruptsParser::add_line(std::string_view line) {
  if (std::vector<int> cpus = cpus_of_header(line); !cpus.empty()) {
    std::optional<InterruptSnapshot> ended = std::exchange(open_, InterruptSnapshot{});
    open_->cpus = std::move(cpus);
    open_->at = std::exchange(stamp_, std::nullopt);
    return ended;
  }
  if (const auto stamp = parse_time_stamp(line))
    stamp_ = stamp;
  else if (open_)
    add_row(line);
  return std::nullopt;
}

void InterruptsParser::add_row(std::string_view line) {
  std::string_view rest = line;
  std::string_view id = take_word(rest);
  if (id.size() < 2 || id.size() > kLongestId || !id.ends_with(':')) return;
  id.remove_suffix(1);
  // NET_RX is a row of /proc/softirqs, which has the same layout.
  if (!std::all_of(id.begin(), id.end(), [](unsigned char c) { return std::isalnum(c) != 0 || c == '_'; })) return;
  InterruptRow row;
  std::string_view text = rest;
  while (row.counts.size() < open_->cpus.size()) {
    const auto count = parse_unsigned(take_word(text));
    if (!count) break;
    row.counts.push_back(*count);
    rest = text;
  }
  row.device = parse_unsigned(id).has_value();
  const bool machine = !row.device && row.counts.size() == 1 && open_->cpus.size() > 1;
  open_->ends_broken = row.counts.size() < open_->cpus.size() && !machine;
  if (open_->ends_broken) {
    ++open_->broken_rows;
  } else if (machine || id == "ERR" || id == "Err" || id == "MIS") {
    ++open_->machine_rows;
  } else {
    row.id = id;
    row.handlers = row.device ? handlers_of(rest) : std::string(trim(rest).substr(0, kLongestHandlers));
    open_->rows.push_back(std::move(row));
  }
}

std::optional<InterruptSnapshot> InterruptsParser::finish() {
  stamp_.reset();
  return std::exchange(open_, std::nullopt);
}

std::vector<InterruptSnapshot> parse_interrupts(std::string_view text) {
  std::vector<InterruptSnapshot> snapshots;
  InterruptsParser parser;
  while (!text.empty()) {
    const std::size_t length = std::min(text.find('\n'), text.size());
    if (auto ended = parser.add_line(text.substr(0, length))) snapshots.push_back(std::move(*ended));
    text.remove_prefix(std::min(length + 1, text.size()));
  }
  if (auto last = parser.finish()) snapshots.push_back(std::move(*last));
  return snapshots;
}

}  // namespace gradsync
