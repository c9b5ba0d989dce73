#include "collectors/import/trace_importer.h"

#include <algorithm>
#include <limits>

#include "collectors/import/collective.h"
#include "src/model/loss.h"

namespace gradsync {
namespace {

constexpr std::size_t kMostOpenRanges = 10'000;  // on one lane

// Elements that count for a collective's bytes: this rank's input; where that is the whole, the part per rank.
std::optional<std::int64_t> payload_elements(const TraceEvent& event, std::string_view operation) {
  const bool part_is_output = operation == "reduce_scatter" || operation == "scatter" || operation == "recv";
  const std::optional<std::int64_t>& told = part_is_output ? event.out_elements : event.in_elements;
  return told ? told : event.input_elements;
}

std::int64_t not_negative(const std::optional<std::int64_t>& number) {
  return std::max<std::int64_t>(number.value_or(0), 0);
}

std::int64_t product(std::int64_t a, std::int64_t b) {
  std::int64_t result = 0;
  return __builtin_mul_overflow(a, b, &result) ? 0 : result;
}

}  // namespace

void TraceImporter::handle(const TraceEvent& event) {
  switch (event.phase) {
    case 'X':
      complete(event);
      break;
    case 'B':
      begin_range(event);
      break;
    case 'E':
      end_range(event);
      break;
    case 'M':
      ++stats_.metadata;
      if (event.name == "thread_name") lanes_.name(event);
      break;
    case 's':
    case 't':
    case 'f':
      ++stats_.flows;
      break;
    case 'i':
    case 'I':
    case 'R':
      ++stats_.instants;
      break;
    case 0:
      ++stats_.malformed;
      break;
    default:
      ++stats_.other_phases;
      break;
  }
}

bool TraceImporter::is_for_import(const TraceEvent& event) {
  switch (event.category) {
    case TraceCategory::span:
      ++stats_.profiler_spans;
      return false;
    case TraceCategory::device_sync:
      ++stats_.device_syncs;
      return false;
    case TraceCategory::flow:
      ++stats_.flows;
      return false;
    default:
      return true;
  }
}

void TraceImporter::complete(const TraceEvent& event) {
  if (!is_for_import(event)) return;
  const Nanoseconds duration = event.duration.value_or(0);
  Nanoseconds end = 0;
  if (!event.start || duration < 0 || event.name.empty() || __builtin_add_overflow(*event.start, duration, &end)) {
    ++stats_.malformed;
    return;
  }
  const KnownName& name = names_.find(event.name);
  if (name.clock_marker) return;
  Event made;
  made.source = Source::profiler;
  made.name = name.id;
  made.start = clock_.map(*event.start);
  made.end = clock_.map(end);
  made.reference = ++references_;
  const std::string_view operation = classify(event, name, made);
  if (!operation.empty()) return give_collective(event, name, operation, made);
  give(made);
  if (!name.casts || made.kind != Kind::kernel) return;
  const std::int64_t threads = product(not_negative(event.blocks), not_negative(event.block_threads));
  if (threads > 0) sink_.attribute(made.reference, names_.id("threads"), threads);
}

std::string_view TraceImporter::classify(const TraceEvent& event, const KnownName& name, Event& made) {
  const auto device_event = [&](Kind kind) {
    made.kind = kind;
    made.lane = lanes_.device(event);
    made.correlation = static_cast<std::uint64_t>(not_negative(event.correlation));
    made.bytes = not_negative(event.bytes);
    return std::string_view{};
  };
  switch (event.category) {
    case TraceCategory::kernel:
      return on_device(event, name, made);
    case TraceCategory::copy:
      return device_event(Kind::copy);
    case TraceCategory::memset:
      return device_event(Kind::memset);
    case TraceCategory::device_annotation:
      made.lane = lanes_.device(event);
      break;
    case TraceCategory::runtime:
      made.kind = name.host_sync ? Kind::host_sync : Kind::host_call;
      made.lane = lanes_.host(event);
      made.correlation = static_cast<std::uint64_t>(not_negative(event.correlation));
      return {};
    default:
      return on_host(event, name, made);
  }
  made.kind = Kind::range;
  return {};
}

std::string_view TraceImporter::on_device(const TraceEvent& event, const KnownName& name, Event& made) {
  made.kind = Kind::kernel;
  made.lane = lanes_.device(event);
  made.correlation = static_cast<std::uint64_t>(not_negative(event.correlation));
  const bool nccl = !name.nccl_operation.empty();
  if (nccl) ++stats_.nccl_kernels;
  if (!nccl && event.collective.empty()) return {};
  const std::string_view told = canonical_collective(event.collective);
  if (!told.empty()) return told;
  return nccl ? name.nccl_operation : kUnknownCollective;
}

std::string_view TraceImporter::on_host(const TraceEvent& event, const KnownName& name, Event& made) {
  if (event.category == TraceCategory::none && event.pid == "CUDA functions") {
    made.flags |= kFlagExtrapolated;
    return on_device(event, name, made);
  }
  made.lane = lanes_.host(event);
  made.kind = Kind::range;
  if (name.step) {
    made.kind = Kind::step;
    made.step = *name.step;
  }
  return name.spanning;
}

void TraceImporter::give_collective(const TraceEvent& event, const KnownName& name, std::string_view operation,
                                    Event& made) {
  const TensorType type = tensor_type(!event.dtype.empty() ? event.dtype : event.input_dtype);
  const std::optional<std::int64_t> elements = payload_elements(event, operation);
  made.kind = Kind::collective;
  made.name = names_.id(operation);
  made.group = names_.id(event.group);
  made.bytes = product(not_negative(elements), type.bytes);
  constexpr std::int64_t most = std::numeric_limits<std::uint32_t>::max();
  made.sequence = static_cast<std::uint32_t>(std::min(not_negative(event.sequence), most));
  give(made);

  const auto number = [&](std::string_view key, const std::optional<std::int64_t>& value) {
    if (value && *value >= 0) sink_.attribute(made.reference, names_.id(key), *value);
  };
  const auto text = [&](std::string_view key, std::string_view value) {
    if (!value.empty()) sink_.attribute(made.reference, names_.id(key), names_.id(value));
  };
  number("elements", elements);
  number("group_size", event.group_size);
  text("dtype", type.name);
  text("op", name.nccl_reduction);
  if (name.spanning.empty()) text("kernel", event.name);
}

void TraceImporter::begin_range(const TraceEvent& event) {
  if (!event.start || event.name.empty()) {
    ++stats_.malformed;
    return;
  }
  Event made;
  made.source = Source::profiler;
  made.kind = Kind::range;
  made.name = names_.id(event.name);
  made.lane = lanes_.host(event);
  made.start = clock_.map(*event.start);
  made.reference = ++references_;
  std::vector<Event>& ranges = open_[static_cast<std::uint32_t>(made.lane)];
  if (ranges.size() < kMostOpenRanges)
    ranges.push_back(made);
  else
    ++not_kept_;
}

void TraceImporter::end_range(const TraceEvent& event) {
  std::vector<Event>& ranges = open_[static_cast<std::uint32_t>(lanes_.host(event))];
  if (!event.start || ranges.empty()) {
    ++stats_.malformed;
    return;
  }
  ranges.back().end = clock_.map(*event.start);
  give(ranges.back());
  ranges.pop_back();
}

void TraceImporter::give(const Event& event) {
  const bool first = stats_.events++ == 0;
  stats_.first = first ? event.start : std::min(stats_.first, event.start);
  stats_.last = std::max({first ? event.start : stats_.last, event.start, event.end});
  ++stats_.by_kind[static_cast<std::size_t>(event.kind)];
  sink_.event(event);
}

void TraceImporter::lose(std::uint64_t count, const std::string& why) {
  if (count == 0) return;
  Event loss = loss_event(names_.id(why), Source::profiler, count);
  loss.start = loss.end = stats_.last;
  loss.reference = ++references_;
  sink_.event(loss);
  stats_.lost += count;
  stats_.loss_reason += (stats_.loss_reason.empty() ? "" : "; ") + why;
}

ImportStats TraceImporter::finish(const TraceReading& reading) {
  for (const auto& [lane, ranges] : open_)
    for (const Event& range : ranges) give(range);
  lose(reading.lost, "events of the trace are not valid JSON");
  lose(not_kept_, "more ranges were open at once than a lane can hold");
  const std::string damage = to_string(reading.damage);
  if (reading.cut)
    lose(1, "the trace ends in the middle of its events" + (damage.empty() ? damage : ", " + damage));
  else if (reading.damage == Damage::corrupt)
    lose(1, "the trace's file is damaged, " + damage);
  lanes_.announce(sink_);
  stats_.cut = reading.cut;
  stats_.bytes = reading.bytes;
  stats_.elements = reading.elements;
  stats_.malformed += reading.not_objects;
  stats_.repaired = reading.repaired;
  stats_.processes = lanes_.host_processes();
  stats_.devices = lanes_.devices();
  return std::move(stats_);
}

}  // namespace gradsync
