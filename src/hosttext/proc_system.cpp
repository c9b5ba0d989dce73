#include "src/hosttext/proc_system.h"

#include <algorithm>
#include <charconv>

#include "src/base/text.h"
#include "src/hosttext/numbers.h"

namespace gradsync {
namespace {

constexpr std::size_t kMostCpus = 16384;

std::string_view take_line(std::string_view& text) {
  const std::size_t length = std::min(text.find('\n'), text.size());
  const std::string_view line = text.substr(0, length);
  text.remove_prefix(std::min(length + 1, text.size()));
  return line;
}

// "some avg10=0.00 … total=123".
std::optional<std::uint64_t> total_of(const std::vector<std::string_view>& words) {
  for (const std::string_view word : words)
    if (word.starts_with("total=")) return parse_unsigned(word.substr(6));
  return std::nullopt;
}

std::optional<std::uint64_t> hexadecimal(std::string_view word) {
  std::uint64_t value = 0;
  const auto [stop, error] = std::from_chars(word.data(), word.data() + word.size(), value, 16);
  if (word.empty() || error != std::errc{} || stop != word.data() + word.size()) return std::nullopt;
  return value;
}

}  // namespace

namespace {

// user nice system idle iowait irq softirq steal of "cpuN …"; the guests' time is in user.
void add_busy(const std::vector<std::string_view>& words, std::map<int, std::uint64_t>& busy) {
  const auto cpu = parse_unsigned(words[0].substr(3));
  if (!cpu || words.size() < 8) return;
  std::uint64_t sum = 0;
  for (const std::size_t i : {1, 2, 3, 6, 7}) sum += parse_unsigned(words[i]).value_or(0);
  busy[static_cast<int>(*cpu)] = sum;
}

}  // namespace

std::optional<CpuTicks> parse_cpu_ticks(std::string_view stat) {
  std::optional<CpuTicks> ticks;
  std::map<int, std::uint64_t> busy;
  std::uint64_t cpus = 0;
  while (!stat.empty()) {
    const std::vector<std::string_view> words = split_words(take_line(stat));
    if (words.empty() || !words[0].starts_with("cpu")) continue;
    if (words[0] != "cpu") {
      ++cpus;
      add_busy(words, busy);
      continue;
    }
    if (words.size() < 9) return std::nullopt;  // user nice system idle iowait irq softirq steal, then guests in user
    CpuTicks sum;
    for (std::size_t i = 1; i < 9; ++i) {
      const auto value = parse_unsigned(words[i]);
      if (!value) return std::nullopt;
      sum.total += *value;
      if (i == 6) sum.irq = *value;
      if (i == 7) sum.softirq = *value;
      if (i == 8) sum.steal = *value;
    }
    ticks = sum;
  }
  if (ticks) ticks->cpus = cpus;
  if (ticks) ticks->busy = std::move(busy);
  return ticks;
}

Pressure parse_pressure(std::string_view text) {
  Pressure pressure;
  while (!text.empty()) {
    const std::vector<std::string_view> words = split_words(take_line(text));
    if (words.empty()) continue;
    if (words[0] == "some") pressure.some_us = total_of(words);
    if (words[0] == "full") pressure.full_us = total_of(words);
  }
  return pressure;
}

std::optional<Throttling> parse_throttling(std::string_view text) {
  std::map<std::string_view, std::uint64_t> values;
  while (!text.empty()) {
    const std::vector<std::string_view> words = split_words(take_line(text));
    if (words.size() != 2) continue;
    if (const auto value = parse_unsigned(words[1])) values[words[0]] = *value;
  }
  if (!values.contains("nr_periods") || !values.contains("nr_throttled")) return std::nullopt;
  const std::uint64_t us =
      values.contains("throttled_usec") ? values["throttled_usec"] : values["throttled_time"] / 1000;
  return Throttling{values["nr_periods"], values["nr_throttled"], us};
}

std::optional<Softnet> parse_softnet(std::string_view text) {
  std::optional<Softnet> sum;
  while (!text.empty()) {
    const std::vector<std::string_view> words = split_words(take_line(text));
    if (words.size() < 3) continue;
    const auto processed = hexadecimal(words[0]), dropped = hexadecimal(words[1]), squeezed = hexadecimal(words[2]);
    if (!processed || !dropped || !squeezed) return std::nullopt;
    if (!sum) sum.emplace();
    sum->processed += *processed;
    sum->dropped += *dropped;
    sum->squeezed += *squeezed;
  }
  return sum;
}

std::optional<InterruptSnapshot> parse_softirqs(std::string_view text) {
  InterruptSnapshot snapshot;
  for (const std::string_view word : split_words(take_line(text))) {
    const auto cpu = word.starts_with("CPU") ? parse_unsigned(word.substr(3)) : std::nullopt;
    if (!cpu || *cpu >= 1'000'000 || snapshot.cpus.size() == kMostCpus) return std::nullopt;
    snapshot.cpus.push_back(static_cast<int>(*cpu));
  }
  if (snapshot.cpus.empty()) return std::nullopt;
  while (!text.empty()) {
    const std::vector<std::string_view> words = split_words(take_line(text));
    if (words.size() != snapshot.cpus.size() + 1 || !words[0].ends_with(':')) {
      if (!words.empty()) ++snapshot.broken_rows;
      continue;
    }
    InterruptRow row;
    row.id = words[0].substr(0, words[0].size() - 1);
    for (std::size_t i = 1; i < words.size(); ++i) row.counts.push_back(parse_unsigned(words[i]).value_or(0));
    snapshot.rows.push_back(std::move(row));
  }
  return snapshot;
}

std::map<std::string, std::uint64_t> parse_protocol_counters(std::string_view text) {
  std::map<std::string, std::uint64_t> counters;
  std::vector<std::string_view> names;
  while (!text.empty()) {
    std::vector<std::string_view> words = split_words(take_line(text));
    if (words.empty() || !words[0].ends_with(':')) continue;
    if (names.empty() || names[0] != words[0]) {
      names = std::move(words);
      continue;
    }
    const std::string prefix = std::string(names[0].substr(0, names[0].size() - 1)) + ".";
    for (std::size_t i = 1; i < std::min(names.size(), words.size()); ++i)
      if (const auto value = parse_unsigned(words[i])) counters[prefix + std::string(names[i])] = *value;
    names.clear();
  }
  return counters;
}

// Inter-|   Receive                    |  Transmit
//  face |bytes packets errs drop fifo … |bytes packets errs drop …
//    lo:  2706      31    0    0    0 …   2706      31    0    0 …
std::map<std::string, std::map<std::string, std::uint64_t>> parse_net_dev(std::string_view text) {
  std::vector<std::string> columns;
  std::map<std::string, std::map<std::string, std::uint64_t>> all;
  while (!text.empty()) {
    const std::string_view line = take_line(text);
    if (const std::size_t bar = line.find('|'); bar != std::string_view::npos) {
      const std::size_t second = line.find('|', bar + 1);
      if (second == std::string_view::npos || trim(line.substr(0, bar)) != "face") continue;
      columns.clear();
      for (const auto& [start, words] : {std::pair{"rx_", split_words(line.substr(bar + 1, second - bar - 1))},
                                         {"tx_", split_words(line.substr(second + 1))}})
        for (const std::string_view word : words)
          columns.push_back(start + std::string(word == "errs" ? "errors" : word == "drop" ? "dropped" : word));
      continue;
    }
    const std::size_t colon = line.rfind(':');  // an alias holds one itself
    if (colon == std::string_view::npos || columns.empty()) continue;
    const std::vector<std::string_view> words = split_words(line.substr(colon + 1));
    if (words.size() != columns.size()) continue;
    auto& counters = all[std::string(trim(line.substr(0, colon)))];
    for (std::size_t i = 0; i < words.size(); ++i) {
      const bool wanted = columns[i].ends_with("bytes") || columns[i].ends_with("packets") ||
                          columns[i].ends_with("errors") || columns[i].ends_with("dropped");
      if (const auto value = parse_unsigned(words[i]); value && wanted) counters[columns[i]] = *value;
    }
  }
  return all;
}

Nanoseconds parse_monotonic_offset(std::string_view text) {
  while (!text.empty()) {
    const std::vector<std::string_view> words = split_words(take_line(text));  // monotonic -5 500000000
    if (words.size() != 3 || words[0] != "monotonic") continue;
    const bool negative = words[1].starts_with('-');
    const auto seconds = parse_unsigned(words[1].substr(negative ? 1 : 0)), ns = parse_unsigned(words[2]);
    if (!seconds || !ns || *seconds > 1'000'000'000 || *ns >= 1'000'000'000) return 0;
    const auto whole = static_cast<Nanoseconds>(*seconds) * 1'000'000'000;
    return (negative ? -whole : whole) + static_cast<Nanoseconds>(*ns);
  }
  return 0;
}

CgroupPaths parse_cgroup_paths(std::string_view text) {
  CgroupPaths paths;
  while (!text.empty()) {
    const std::string_view line = take_line(text);  // 4:cpu,cpuacct:/job
    const std::size_t first = line.find(':');
    const std::size_t second = first == std::string_view::npos ? first : line.find(':', first + 1);
    if (second == std::string_view::npos) continue;
    const std::string controllers(line.substr(first + 1, second - first - 1)), path(line.substr(second + 1));
    if (controllers.empty()) paths.v2 = path;
    if (("," + controllers + ",").find(",cpu,") == std::string::npos) continue;
    paths.cpu_v1 = path;
    paths.v1_hierarchy = controllers;
  }
  return paths;
}

}  // namespace gradsync
