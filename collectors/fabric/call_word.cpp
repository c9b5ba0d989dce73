#include "collectors/fabric/call_word.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <string>

#include "collectors/fabric/store_protocol.h"
#include "src/base/text.h"

namespace gradsync {
namespace {

std::optional<double> number(std::string_view text) {
  const std::string copy(text);
  char* end = nullptr;
  const double value = std::strtod(copy.c_str(), &end);
  if (copy.empty() || end != copy.c_str() + copy.size()) return std::nullopt;
  return value;
}

double median_of_three(const double* values) {
  return std::max(std::min(values[0], values[1]), std::min(std::max(values[0], values[1]), values[2]));
}

}  // namespace

std::string encode(const CallWord& word) {
  return fmt::format("{} {} {} {} {} {}", word.ready_ns, word.slack_ns, word.stop ? 1 : 0, word.begin_ns, word.us,
                     word.graph_us);
}

std::optional<CallWord> decode_call(std::string_view text) {
  const std::vector<std::string_view> words = split_words(text);
  if (words.size() != 6) return std::nullopt;
  const auto ready = whole_number(words[0]), slack = whole_number(words[1]), stop = whole_number(words[2]),
             begin = whole_number(words[3]);
  const auto us = number(words[4]), graph = number(words[5]);
  if (!ready || !slack || !stop || !begin || !us || !graph) return std::nullopt;
  return CallWord{*ready, *slack, *stop != 0, *begin, *us, *graph};
}

std::string encode(const SweepVisit& visit) {
  return fmt::format("{} {} {} {} {}", to_string(visit.call.operation), to_string(visit.call.type), visit.call.elements,
                     visit.repeats, visit.loaded ? 1 : 0);
}

std::optional<SweepVisit> decode_visit(std::string_view text) {
  const std::vector<std::string_view> words = split_words(text);
  if (words.size() != 5) return std::nullopt;
  const auto operation = fabric_operation(words[0]);
  const auto type = element_type(words[1]);
  const auto elements = whole_number(words[2]), repeats = whole_number(words[3]), loaded = whole_number(words[4]);
  if (!operation || !type || !elements || !repeats || !loaded || *elements < 1 || *repeats < 1) return std::nullopt;
  return SweepVisit{{*operation, *type, *elements}, static_cast<int>(*repeats), *loaded != 0};
}

SweepSample joined(const std::vector<CallWord>& words) {
  SweepSample sample;
  sample.graph_us = sample.wrong = std::numeric_limits<double>::quiet_NaN();
  std::int64_t first = words.front().begin_ns, last = first;
  for (const CallWord& word : words) {
    sample.us = std::max(sample.us, word.us);
    if (!std::isnan(word.graph_us)) sample.graph_us = std::fmax(sample.graph_us, word.graph_us);
    first = std::min(first, word.begin_ns);
    last = std::max(last, word.begin_ns);
  }
  sample.skew_us = static_cast<double>(last - first) / 1000;
  return sample;
}

std::int64_t StartMargin::start_ns(const std::vector<CallWord>& words) {
  constexpr std::int64_t kWantedSlack = 40'000, kLeast = 60'000, kMost = 10'000'000;
  std::int64_t slack = words.front().slack_ns, ready = words.front().ready_ns;
  for (const CallWord& word : words) {
    slack = std::min(slack, word.slack_ns);
    ready = std::max(ready, word.ready_ns);
  }
  // Too late: up at once. Too early: down slowly, so that one quick answer does not spoil the next start.
  const std::int64_t missing = kWantedSlack - slack;
  margin_ns_ = std::clamp(margin_ns_ + (missing > 0 ? missing : missing / 8), kLeast, kMost);
  return ready + margin_ns_;
}

void WarmUp::add(double us) {
  us_.push_back(us);
  total_us_ += us;
}

double WarmUp::median_us() const {
  if (us_.size() < 3) return us_.empty() ? 0 : us_.back();
  return median_of_three(us_.data() + us_.size() - 3);
}

bool WarmUp::done() const {
  constexpr double kMostUs = 2e6;
  const std::size_t calls = us_.size();
  if (known_us_) return calls >= 2 && (us_.back() <= 1.5 * *known_us_ || calls >= 10 || total_us_ >= kMostUs);
  if (calls >= 3 && (calls >= 50 || total_us_ >= kMostUs)) return true;
  if (calls < 6) return false;
  const double now = median_of_three(us_.data() + calls - 3), before = median_of_three(us_.data() + calls - 6);
  return std::abs(now - before) <= 0.1 * before;
}

}  // namespace gradsync
