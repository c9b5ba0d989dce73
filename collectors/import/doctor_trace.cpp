#include "collectors/import/doctor_trace.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>

#include "collectors/import/byte_source.h"
#include "collectors/import/doctor_event.h"
#include "collectors/import/json_windows.h"
#include "src/base/text.h"
#include "src/model/loss.h"

namespace gradsync {
namespace {

// Written by src/export/perfetto.h, which this folder may not include.
constexpr std::string_view kFirstMember = "\"gradsyncTrace\":";

constexpr std::array<std::string_view, 4> kFields{"correlation", "bytes", "group", "sequence"};

bool is_attribute(std::string_view key) {
  return !key.starts_with("gsd.") && std::find(kFields.begin(), kFields.end(), key) == kFields.end();
}

Source source_from(std::string_view word) {
  for (std::uint8_t i = 0; i <= static_cast<std::uint8_t>(Source::nccl_plugin); ++i)
    if (to_string(static_cast<Source>(i)) == word) return static_cast<Source>(i);
  return Source::unknown;
}

std::uint8_t flags_from(std::string_view words) {
  std::uint8_t flags = 0;
  for (const std::string_view word : split_words(words)) {
    if (word == "deep") flags |= kFlagDeep;
    if (word == "extrapolated") flags |= kFlagExtrapolated;
    if (word == "async") flags |= kFlagAsync;
    if (word == "in_hook") flags |= kFlagInHook;
  }
  return flags;
}

class DoctorTrace final : public ElementVisitor {
 public:
  DoctorTrace(const ImportRequest& request, EventSink& sink) : request_(request), sink_(sink) {}

  bool read(simdjson::ondemand::object element) override { return read_doctor_event(std::move(element), event_); }

  void accept() override {
    if (event_.phase == "M") return introduce();
    if (event_.phase != "X" && event_.phase != "i") return;
    const Kind kind = kind_from(event_.text("gsd.kind"));
    if (kind == Kind::empty) return;
    Nanoseconds start = 0, end = 0;
    const bool placed = event_.start && !__builtin_add_overflow(*event_.start, origin_, &start) &&
                        event_.duration.value_or(0) >= 0 &&
                        !__builtin_add_overflow(start, event_.duration.value_or(0), &end);
    if (!placed || !begun_) return void(++malformed_);
    give(kind, start, end);
  }

  // What is known only at the end.
  Imported finish(const WindowStats& stats, Damage damage) {
    Imported imported;
    imported.processes = processes_;
    imported.ranks = ranks_ + " (gradsync-doctor's own trace)";
    const std::uint64_t lost = stats.lost + malformed_ + (stats.closed ? 0 : 1);
    if (lost == 0 && damage == Damage::none) return imported;
    const std::string why =
        stats.closed ? "events of the trace are not valid JSON" : "the trace ends in the middle of its events";
    if (begun_) sink_.event(loss_event(sink_.intern(why), Source::profiler, std::max<std::uint64_t>(lost, 1)));
    imported.coverage.state = CoverageState::partial;
    imported.coverage.reason = why + (damage == Damage::none ? "" : std::string(", ") + to_string(damage));
    imported.coverage.lost = static_cast<std::int64_t>(std::max<std::uint64_t>(lost, 1));
    return imported;
  }

 private:
  void introduce() {
    if (event_.name == "gradsync_rank" || event_.name == "gradsync_machine") return begin();
    if (!begun_) return;
    if (event_.name == "gradsync_facts")
      for (const auto& [key, value] : event_.texts)
        if (key != "rank") sink_.fact(key, value);
    if (event_.name == "gradsync_lane") sink_.lane({lane(), event_.number("tid").value_or(0), event_.text("name")});
  }

  // The machine's events name processes as the job had them: those of the trace have numbers of their own.
  void begin() {
    ProcessInfo process;
    process.host = host_ = event_.text("host");
    process.pid = request_.first_process + opened_++;
    process.command = event_.text("command");
    process.exited_cleanly = event_.number("exited_cleanly").value_or(1) != 0;
    process.exit_time = event_.number("exit_ns").value_or(0);
    process.lost = static_cast<std::uint64_t>(event_.number("lost").value_or(0));
    process.clock = event_.text("clock");
    origin_ = event_.number("origin_ns").value_or(0);
    sink_.begin_process(process);
    begun_ = true;
    const std::optional<std::int64_t> rank = event_.number("rank");
    if (!rank) return;
    numbers_[{host_, event_.number("pid").value_or(0)}] = process.pid;
    sink_.fact("rank", std::to_string(*rank));
    ranks_ += (ranks_.empty() ? "" : ", ") + std::to_string(*rank);
    ++processes_;
  }

  LaneId lane() const { return LaneId{static_cast<std::uint32_t>(event_.number("gsd.lane").value_or(0))}; }

  void give(Kind kind, Nanoseconds start, Nanoseconds end) {
    Event made;
    made.kind = kind;
    made.source = source_from(event_.text("gsd.source"));
    made.phase = phase_from(event_.text("gsd.phase"));
    made.flags = flags_from(event_.text("gsd.flags"));
    made.lane = lane();
    made.step = static_cast<std::uint32_t>(event_.number("gsd.step").value_or(kNoStep));
    const auto own_name = std::find_if(event_.texts.begin(), event_.texts.end(),
                                       [](const auto& entry) { return entry.first == "gsd.name"; });
    made.name = sink_.intern(own_name == event_.texts.end() ? event_.name : own_name->second);
    made.start = start;
    const bool ended = event_.phase == "X" || event_.number("gsd.ended");
    made.end = ended ? end : 0;
    made.correlation = static_cast<std::uint64_t>(event_.number("correlation").value_or(0));
    made.bytes = event_.number("bytes").value_or(0);
    made.group = kind == Kind::step ? NameId{static_cast<std::uint32_t>(event_.number("gsd.variant").value_or(0))}
                                    : sink_.intern(event_.text("group"));
    made.sequence = static_cast<std::uint32_t>(event_.number("sequence").value_or(0));
    // References that others name lie below; those that nobody names are counted from here.
    constexpr std::uint64_t kUnnamed = std::uint64_t{1} << 47;
    const std::optional<std::int64_t> reference = event_.number("gsd.reference");
    made.reference = reference ? static_cast<std::uint64_t>(*reference) : kUnnamed | ++unnamed_;
    if (made.source == Source::host) {
      const auto process = numbers_.find({host_, made.bytes});
      if (process != numbers_.end()) made.bytes = process->second;
    }
    sink_.event(made);
    for (const auto& [key, value] : event_.numbers)
      if (is_attribute(key)) sink_.attribute(made.reference, sink_.intern(key), value);
    for (const auto& [key, value] : event_.texts)
      if (is_attribute(key)) sink_.attribute(made.reference, sink_.intern(key), sink_.intern(value));
  }

  const ImportRequest& request_;
  EventSink& sink_;
  DoctorEvent event_;
  bool begun_ = false;
  Nanoseconds origin_ = 0;
  std::string host_, ranks_;
  std::map<std::pair<std::string, std::int64_t>, std::int64_t> numbers_;  // host and process of the job → of the sink
  std::int64_t opened_ = 0, processes_ = 0;
  std::uint64_t unnamed_ = 0, malformed_ = 0;
};

}  // namespace

bool is_doctor_trace(std::string_view head) {
  head = trim(head);
  return head.starts_with('{') && trim(head.substr(1)).starts_with(kFirstMember);
}

Result<Imported> import_doctor_trace(const ImportRequest& request, EventSink& sink) {
  Result<ByteSource> source = ByteSource::open(request.path);
  if (!source) return source.error();
  JsonWindows windows(*source);
  const Result<void> found = windows.find_array();
  if (!found) return Error{found.error().what, request.path.string(), found.error().why, "", 3};
  DoctorTrace trace(request, sink);
  windows.for_each(trace);
  return trace.finish(windows.stats(), source->damage());
}

}  // namespace gradsync
