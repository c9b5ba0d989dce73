#include "src/export/trace_machines.h"

#include <algorithm>
#include <array>
#include <optional>

#include "src/export/trace_event_text.h"
#include "src/export/trace_tracks.h"
#include "src/model/series_table.h"

namespace gradsync {
namespace {

struct HostEvent {
  const RankTimeline* rank = nullptr;
  const Event* event = nullptr;
};

// A window belongs to all processes of its machine and was handed to each.
bool is_repeated(const HostEvent& a, const HostEvent& b) {
  return a.event->kind == Kind::window && b.event->kind == Kind::window && a.event->start == b.event->start &&
         a.event->end == b.event->end && a.event->name == b.event->name;
}

std::map<std::string, std::vector<HostEvent>> by_machine(const std::vector<RankTimeline>& ranks) {
  std::map<std::string, std::vector<HostEvent>> machines;
  for (const RankTimeline& rank : ranks)
    for (const Event& event : rank.host_events) machines[rank.process.host].push_back({&rank, &event});
  for (auto& [name, events] : machines) {
    std::stable_sort(events.begin(), events.end(), [](const HostEvent& a, const HostEvent& b) {
      return a.event->start != b.event->start ? a.event->start < b.event->start : a.event->end > b.event->end;
    });
    events.erase(std::unique(events.begin(), events.end(), is_repeated), events.end());
  }
  return machines;
}

struct Counter {
  std::string_view column;
  bool of_total = false;  // the column counts up: what is drawn is its rate, per second
};
constexpr std::array<Counter, 6> kGpu{
    {{"sm_mhz"}, {"memory_mhz"}, {"utilization_percent"}, {"power_w"}, {"temperature_c"}, {"memory_used_bytes"}}};
constexpr std::array<Counter, 2> kNic{{{"rx_bytes", true}, {"tx_bytes", true}}};

class Machines {
 public:
  Machines(TraceText& text, const TraceSource& source, const std::map<std::string, Nanoseconds>& origins,
           int first_process)
      : text_(text), source_(source), origins_(origins), next_process_(first_process) {}

  void write_events(const std::string& machine, const std::vector<HostEvent>& events, int& next_thread) {
    const int process = process_of(machine);
    TraceTracks tracks(text_, process, next_thread);
    for (const auto& [rank, event] : events) {
      const bool window = event->kind == Kind::window;
      const auto cpu = static_cast<std::uint32_t>(event->correlation == 0 ? 0 : event->correlation - 1);
      const std::string name = window                    ? "what was watched"
                               : event->correlation == 0 ? "CPU not told"
                                                         : "CPU " + std::to_string(cpu);
      const std::uint32_t number = event->correlation == 0 ? ~0U : cpu;
      const Track track =
          tracks.place(window ? TrackGroup::observer : TrackGroup::cpu, number, name, event->start, event->end);
      write_event(text_, *rank, *event, nullptr, track, origin_of(machine));
      ++tally_.events;
    }
  }

  template <std::size_t size>
  void write_counters(const char* series, const std::array<Counter, size>& counters) {
    const auto found = source_.series.find(series);
    if (found == source_.series.end()) return;
    const SeriesTable table(found->second);
    std::map<std::pair<std::string, std::string>, std::pair<double, double>> before;  // time and total
    for (const auto& row : table.rows()) {
      const std::optional<double> at = table.number(row, "at_ns");
      const std::string machine = table.text(row, "machine"), device = table.text(row, "device");
      if (!at) continue;
      const Nanoseconds time = on_common_clock(machine, static_cast<Nanoseconds>(*at));
      for (const Counter& counter : counters) {
        std::optional<double> value = table.number(row, counter.column);
        if (!value) continue;
        const std::string name = device + " " + std::string(counter.column) + (counter.of_total ? "_per_s" : "");
        if (counter.of_total) {
          const auto [last, first] = before.try_emplace({machine, name}, *at, *value);
          const double seconds = (*at - last->second.first) * 1e-9, more = *value - last->second.second;
          last->second = {*at, *value};
          if (first || seconds <= 0 || more < 0) continue;
          value = more / seconds;
        }
        write_counter(machine, name, time, *value);
      }
    }
  }

  const MachineTally& tally() const { return tally_; }

 private:
  int process_of(const std::string& machine) {
    const auto [process, added] = processes_.try_emplace(machine, next_process_);
    if (!added) return process->second;
    ++next_process_;
    text_.name_process(process->second, "machine " + machine, process->second);
    text_.open('M', {process->second, 0}, "gradsync_machine");
    text_.args();
    text_.text("host", machine);
    text_.number("origin_ns", origin_of(machine));
    text_.close();
    return process->second;
  }

  // Of a machine without ranks: that of the first one.
  Nanoseconds origin_of(const std::string& machine) const {
    const auto own = origins_.find(machine);
    return own != origins_.end() ? own->second : origins_.empty() ? 0 : origins_.begin()->second;
  }

  Nanoseconds on_common_clock(const std::string& machine, Nanoseconds time) const {
    const auto line = source_.clocks.lines.find(machine);
    return line == source_.clocks.lines.end() ? time : line->second.map(time);
  }

  // Viewers know no time before 0: what was counted before anything else happened is left out.
  void write_counter(const std::string& machine, const std::string& name, Nanoseconds time, double value) {
    if (time < origin_of(machine)) return;
    text_.open('C', {process_of(machine), 0}, name);
    text_.time("ts", time - origin_of(machine));
    text_.args();
    text_.real("value", value);
    text_.close();
    ++tally_.counters;
  }

  TraceText& text_;
  const TraceSource& source_;
  const std::map<std::string, Nanoseconds>& origins_;
  std::map<std::string, int> processes_;
  int next_process_;
  MachineTally tally_;
};

}  // namespace

MachineTally write_machines(TraceText& text, const TraceSource& source,
                            const std::map<std::string, Nanoseconds>& origins, int first_process, int& next_thread) {
  Machines machines(text, source, origins, first_process);
  for (const auto& [machine, events] : by_machine(source.ranks)) machines.write_events(machine, events, next_thread);
  machines.write_counters("gpu_samples", kGpu);
  machines.write_counters("nic_samples", kNic);
  return machines.tally();
}

}  // namespace gradsync
