#include "src/hosttext/perf_timehist.h"

#include <algorithm>
#include <array>
#include <utility>

#include "src/base/text.h"
#include "src/hosttext/numbers.h"

namespace gradsync {
namespace {

constexpr std::size_t kMostThreads = 65536, kMostDelays = 64'000'000;

bool is_thread_number(std::string_view text) {
  const std::size_t slash = text.find('/');
  return parse_unsigned(text.substr(0, slash)).has_value() &&
         (slash == std::string_view::npos || parse_unsigned(text.substr(slash + 1)).has_value());
}

// Where the name ends: behind "<idle>" or "[44]", "[2341/2340]"; names may hold brackets and blanks themselves.
std::size_t name_length(std::string_view text) {
  if (text.starts_with("<idle>")) return 6;
  for (std::size_t close = text.find(']'); close != std::string_view::npos; close = text.find(']', close + 1)) {
    const std::size_t open = text.rfind('[', close);
    if (open != std::string_view::npos && is_thread_number(text.substr(open + 1, close - open - 1))) return close + 1;
  }
  return 0;
}

// "python3[2341/2340]" → "python3:2341", as the other sources name threads.
std::string thread_name(std::string_view text) {
  const std::size_t open = text.rfind('[');
  const std::string_view numbers = text.substr(open + 1, text.size() - open - 2);
  return std::string(text.substr(0, open)) + ":" + std::string(numbers.substr(0, numbers.find('/')));
}

}  // namespace

bool is_timehist_header(std::string_view line) {
  return line.find("task name") != std::string_view::npos && line.find("sch delay") != std::string_view::npos &&
         line.find("run time") != std::string_view::npos;
}

void PerfTimehistParser::add_line(std::string_view line) {
  if (is_timehist_header(line)) {
    const std::size_t cpu = line.find("cpu"), name = line.find("task name");
    name_offset_ = cpu < name ? name - (cpu + 3) : 0;
    std::array<std::pair<std::size_t, int>, 4> columns{{{line.find("wait time"), 0},
                                                        {line.find("sch delay"), 1},
                                                        {line.find("run time"), 2},
                                                        {line.find("mig time"), 3}}};
    std::sort(columns.begin(), columns.end());
    for (std::size_t i = 0; i < columns.size(); ++i) {
      if (columns[i].second == 1) delay_column_ = i;
      if (columns[i].second == 2) run_column_ = i;
    }
    return;
  }
  const std::size_t open = line.find('['), close = line.find(']');
  if (name_offset_ == 0 || open == std::string_view::npos || close == std::string_view::npos || open > close) return;
  const bool event = parse_unsigned(line.substr(open + 1, close - open - 1)).has_value() &&
                     parse_seconds(trim(line.substr(0, open))).has_value();
  if (!event || line.size() < close + 1 + name_offset_) return;
  const std::string_view text = trim(line.substr(close + 1 + name_offset_));
  if (const std::size_t moved = text.find("migrated: "); moved != std::string_view::npos) {
    saw_migrations_ = true;
    const std::string_view whom = text.substr(moved + 10);
    const std::size_t length = name_length(whom);
    if (length == 0 || whom.starts_with("<idle>")) return;
    if (Thread* const thread = find(thread_name(whom.substr(0, length)))) ++thread->migrations;
    return;
  }
  if (text.find("awakened: ") != std::string_view::npos) return;
  const std::size_t length = name_length(text);
  ++rows_;
  if (length == 0)
    ++broken_rows_;
  else
    add_row(text.substr(0, length), text.substr(length));
}

PerfTimehistParser::Thread* PerfTimehistParser::find(std::string_view name) {
  const auto known = threads_.find(name);
  if (known != threads_.end()) return &known->second;
  if (threads_.size() == kMostThreads) {
    ++dropped_;
    return nullptr;
  }
  return &threads_[std::string(name)];
}

void PerfTimehistParser::add_row(std::string_view name, std::string_view numbers) {
  const std::vector<std::string_view> words = split_words(numbers.substr(0, 256));
  if (words.size() <= std::max(delay_column_, run_column_)) {
    ++broken_rows_;
    return;
  }
  const auto delay = parse_milliseconds(words[delay_column_]), run = parse_milliseconds(words[run_column_]);
  if (!delay || !run) {
    ++broken_rows_;
    return;
  }
  if (name == "<idle>") return;
  Thread* const thread = find(thread_name(name));
  if (thread == nullptr) return;
  thread->run_us += to_us(*run);
  if (*delay == 0) return;
  if (kept_ == kMostDelays) {
    ++dropped_;
    return;
  }
  ++kept_;
  thread->delays_us.push_back(static_cast<float>(to_us(*delay)));
}

std::vector<ThreadWait> PerfTimehistParser::threads() const {
  std::vector<ThreadWait> waits;
  for (const auto& [name, thread] : threads_) {
    ThreadWait wait = unknown_wait(name);
    std::vector<float> delays = thread.delays_us;
    summarise_delays(delays, wait);
    wait.run_us = thread.run_us;
    if (saw_migrations_) wait.migrations = static_cast<double>(thread.migrations);
    waits.push_back(std::move(wait));
  }
  const auto longest = [](const ThreadWait& wait) { return wait.count > 0 ? wait.max_us : -1; };
  std::sort(waits.begin(), waits.end(), [&](const ThreadWait& a, const ThreadWait& b) {
    return longest(a) != longest(b) ? longest(a) > longest(b) : a.thread < b.thread;
  });
  return waits;
}

}  // namespace gradsync
