#include "src/hosttext/perf_script_line.h"

#include "src/base/text.h"
#include "src/hosttext/numbers.h"

namespace gradsync {
namespace {

// What stands behind `key`, up to `end`; names may hold blanks, so the end is the next key.
std::optional<std::string_view> field(std::string_view fields, std::string_view key, std::string_view end) {
  const std::size_t at = fields.find(key);
  if (at == std::string_view::npos) return std::nullopt;
  const std::size_t first = at + key.size();
  const std::size_t last = fields.find(end, first);
  return fields.substr(first, last == std::string_view::npos ? last : last - first);
}

std::optional<std::int64_t> number_field(std::string_view fields, std::string_view key) {
  const auto text = field(fields, key, " ");
  const auto number = text ? parse_unsigned(*text) : std::nullopt;
  if (!number || *number > 0x7fffffff) return std::nullopt;
  return static_cast<std::int64_t>(*number);
}

struct NamedThread {
  std::string_view name;
  std::int64_t tid = 0;
};

// "kworker/1:1H:44 [120]…": the thread's number is behind the last colon before the priority.
std::optional<NamedThread> short_thread(std::string_view text) {
  const std::size_t end = text.find(" [");
  if (end == std::string_view::npos) return std::nullopt;
  const std::string_view named = trim(text.substr(0, end));
  const std::size_t colon = named.rfind(':');
  if (colon == std::string_view::npos) return std::nullopt;
  const auto tid = parse_unsigned(named.substr(colon + 1));
  if (!tid || *tid > 0x7fffffff) return std::nullopt;
  return NamedThread{named.substr(0, colon), static_cast<std::int64_t>(*tid)};
}

bool read_long_switch(std::string_view fields, SchedSwitch& change) {
  const auto from_name = field(fields, "prev_comm=", " prev_pid="), to_name = field(fields, "next_comm=", " next_pid=");
  const auto from = number_field(fields, " prev_pid="), to = number_field(fields, " next_pid=");
  const auto state = field(fields, " prev_state=", " ");
  if (!from_name || !to_name || !from || !to || !state) return false;
  change.from = *from;
  change.to = *to;
  change.from_name = *from_name;
  change.to_name = *to_name;
  change.from_runnable = state->starts_with('R');
  return true;
}

bool read_short_switch(std::string_view fields, SchedSwitch& change) {
  const std::size_t arrow = fields.find(" ==> ");
  if (arrow == std::string_view::npos) return false;
  const auto from = short_thread(fields.substr(0, arrow)), to = short_thread(fields.substr(arrow + 5));
  const std::size_t state = fields.substr(0, arrow).rfind("] ");
  if (!from || !to || state == std::string_view::npos) return false;
  change.from = from->tid;
  change.to = to->tid;
  change.from_name = from->name;
  change.to_name = to->name;
  change.from_runnable = fields.substr(state + 2).starts_with('R');
  return true;
}

bool read_wakeup(std::string_view fields, ScriptLine& line) {
  if (const auto name = field(fields, "comm=", " pid=")) {
    const auto tid = number_field(fields, " pid=");
    if (!tid) return false;
    line.tid = *tid;
    line.name = *name;
    return true;
  }
  const auto thread = short_thread(fields);
  if (!thread) return false;
  line.tid = thread->tid;
  line.name = thread->name;
  return true;
}

bool read_irq(std::string_view fields, std::string_view key, std::string_view end, ScriptLine& line) {
  const auto irq = field(fields, key, end);
  if (!irq || irq->empty()) return false;
  line.irq = *irq;
  if (const auto name = field(fields, "name=", "\n")) line.name = trim(*name);
  return true;
}

void read_fields(std::string_view fields, ScriptLine& line) {
  const auto is = [&](std::string_view event, Tracepoint kind, bool read) {
    if (line.event != event) return;
    line.kind = read ? kind : Tracepoint::other;
    line.fields_unknown = !read;
  };
  if (line.event == "sched:sched_switch") {
    is(line.event, Tracepoint::sched_switch,
       read_long_switch(fields, line.change) || read_short_switch(fields, line.change));
    line.change.cpu = line.cpu;
  } else if (line.event.starts_with("sched:sched_wak")) {
    is(line.event, Tracepoint::wakeup, read_wakeup(fields, line));
  } else if (line.event.starts_with("irq:irq_handler_")) {
    const bool read = read_irq(fields, "irq=", " ", line);
    is("irq:irq_handler_entry", Tracepoint::irq_entry, read);
    is("irq:irq_handler_exit", Tracepoint::irq_exit, read);
  } else if (line.event.starts_with("irq:softirq_")) {
    const bool read = read_irq(fields, "action=", "]", line);
    is("irq:softirq_entry", Tracepoint::softirq_entry, read);
    is("irq:softirq_exit", Tracepoint::softirq_exit, read);
  }
}

std::string_view first_word(std::string_view text) {
  text = trim(text);
  return text.substr(0, text.find_first_of(" \t"));
}

// "[001]  d..2  1947.020279:  1  sched:sched_switch: fields": behind the CPU a time, perhaps flags before it and a count
// behind it, then the event.
std::optional<ScriptLine> parse_behind_cpu(std::string_view rest, int cpu) {
  ScriptLine line;
  line.cpu = cpu;
  for (int words = 0; words < 4; ++words) {
    const std::string_view word = first_word(rest);
    if (word.empty() || word.find('=') != std::string_view::npos) return std::nullopt;
    rest = rest.substr(static_cast<std::size_t>(word.data() - rest.data()) + word.size());
    const std::string_view body = word.substr(0, word.size() - 1);
    if (!word.ends_with(':')) continue;
    if (line.at == 0) {
      const auto at = parse_seconds(body);
      if (!at || *at == 0) return std::nullopt;
      line.at = *at;
    } else if (body.find(':') != std::string_view::npos) {
      line.event = body;
      read_fields(rest, line);
      return line;
    }
  }
  return std::nullopt;
}

}  // namespace

std::optional<ScriptLine> parse_script_line(std::string_view line) {
  constexpr std::size_t kFarthestCpu = 64;  // the thread's name and number come before it
  for (std::size_t open = line.find(" ["); open < kFarthestCpu; open = line.find(" [", open + 1)) {
    const std::size_t close = line.find(']', open);
    if (close == std::string_view::npos) break;
    const auto cpu = parse_unsigned(line.substr(open + 2, close - open - 2));
    if (!cpu || *cpu > 1'000'000) continue;
    if (auto parsed = parse_behind_cpu(line.substr(close + 1), static_cast<int>(*cpu))) return parsed;
  }
  return std::nullopt;
}

std::optional<std::int64_t> lost_by_perf(std::string_view line) {
  const std::size_t at = line.find("lost ");
  const bool perf = line.find("PERF_RECORD_LOST") != std::string_view::npos || line.starts_with("Processed ");
  if (at == std::string_view::npos || !perf) return std::nullopt;
  const auto count = parse_unsigned(first_word(line.substr(at + 5)));
  if (!count || *count > 0x7fffffffffff) return std::nullopt;
  return static_cast<std::int64_t>(*count);
}

}  // namespace gradsync
