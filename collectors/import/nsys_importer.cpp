#include "collectors/import/nsys_importer.h"

#include <algorithm>
#include <array>
#include <limits>

#include "collectors/import/collective.h"

namespace gradsync {
namespace {

constexpr std::string_view kNoTime = "without a valid time";
constexpr std::string_view kNobody = "without a process or device";
constexpr std::size_t kMostSyncs = std::size_t{1} << 23;

// CUpti_ActivitySynchronizationType: what the host waits in. Waiting of one stream for an event (2) is not the host's.
bool blocks_host(std::int64_t type) { return type == 1 || type == 3 || type == 4; }

std::int64_t not_negative(const std::optional<std::int64_t>& value) { return value && *value > 0 ? *value : 0; }

std::map<std::int64_t, std::string> read_enum(const NsysDatabase& database, std::string_view table) {
  constexpr std::size_t kMostLabels = 1024;
  constexpr std::array<std::string_view, 3> columns{"id", "label", "name"};
  std::map<std::int64_t, std::string> labels;
  NsysRows rows = database.rows(table, columns);
  while (rows.next() && labels.size() < kMostLabels)
    if (const std::optional<std::int64_t> id = rows.integer(0))
      labels[*id] = clean_text(rows.text(1).empty() ? rows.text(2) : rows.text(1));
  return labels;
}

std::string label_of(const std::map<std::int64_t, std::string>& labels, const std::optional<std::int64_t>& id) {
  const auto found = labels.find(id.value_or(-1));
  return found == labels.end() ? "" : found->second;
}

}  // namespace

NsysExport::NsysExport(const NsysDatabase& opened)
    : database(opened),
      strings(opened),
      payloads(opened),
      catalog(find_ranks(opened)),
      copy_kinds(read_enum(opened, "ENUM_CUDA_MEMCPY_OPER")),
      sync_kinds(read_enum(opened, "ENUM_CUPTI_SYNC_TYPE")) {}

NsysImporter::NsysImporter(const NsysExport& from, const NsysRank& rank, CountNobody nobody, NsysLosses& losses,
                           EventSink& sink)
    : from_(from), rank_(rank), nobody_(nobody), losses_(losses), sink_(sink), names_(from.strings, sink) {}

void NsysImporter::run() {
  ranges();
  nccl_.finish();
  collect_syncs();
  calls();
  syncs_without_call();
  kernels();
  other_device_rows(kGraphTable, Kind::kernel);
  other_device_rows(kCopyTable, Kind::copy);
  other_device_rows(kMemsetTable, Kind::memset);
  lanes_.announce(from_.database, from_.strings, sink_);
}

bool NsysImporter::owns_device_row(std::string_view table, const std::optional<std::int64_t>& process,
                                   const std::optional<std::int64_t>& device) {
  if (!rank_.device) return false;
  const bool told = (process || from_.catalog.one_process) && device;
  if (!told && nobody_ == CountNobody::yes) losses_.rows(table, kNobody);
  return told && *device == *rank_.device && (!process || !rank_.process || *process == *rank_.process);
}

bool NsysImporter::owns_thread(std::string_view table, std::optional<std::int64_t>& thread) {
  if (!thread && from_.catalog.one_process) thread = rank_.process.value_or(0);
  if (!thread && nobody_ == CountNobody::yes) losses_.rows(table, "without a thread");
  return thread && rank_.owns_thread(*thread);
}

// Columns 0 and 1.
bool NsysImporter::has_time(std::string_view table, Row row, Event& made) {
  const std::optional<std::int64_t> start = row.integer(0), end = row.integer(1);
  if (!start || !end || *start < 0 || *end < *start) {
    losses_.rows(table, kNoTime);
    return false;
  }
  made.start = *start;
  made.end = *end;
  return true;
}

void NsysImporter::collect_syncs() {
  constexpr std::array<std::string_view, 6> columns{"start",    "end",           "globalPid",
                                                    "deviceId", "correlationId", "syncType"};
  NsysRows rows = from_.database.rows(kSyncTable, columns);
  while (rows.next()) {
    const std::int64_t type = rows.integer(5).value_or(0);
    const std::optional<std::int64_t> process = rows.integer(2);
    if (!blocks_host(type) || (process && rank_.process && *process != *rank_.process)) continue;
    if (!process && !from_.catalog.one_process) {
      if (nobody_ == CountNobody::yes) losses_.rows(kSyncTable, kNobody);
      continue;
    }
    if (rank_.shares_process && rows.integer(3) != rank_.device) continue;
    Event time;
    if (!has_time(kSyncTable, rows, time)) continue;
    if (syncs_.size() < kMostSyncs)
      syncs_.push_back({rows.integer(4).value_or(0), type, time.start, time.end, false});
    else
      losses_.rows(kSyncTable, "more than are kept");
  }
  losses_.ended(kSyncTable, rows);
  std::sort(syncs_.begin(), syncs_.end(), [](const Sync& a, const Sync& b) { return a.correlation < b.correlation; });
}

void NsysImporter::calls() {
  constexpr std::array<std::string_view, 5> columns{"start", "end", "globalTid", "correlationId", "nameId"};
  NsysRows rows = from_.database.rows(kRuntimeTable, columns);
  while (rows.next()) {
    std::optional<std::int64_t> thread = rows.integer(2);
    Event made;
    if (!owns_thread(kRuntimeTable, thread) || !has_time(kRuntimeTable, rows, made)) continue;
    const NsysName* name = names_.by_id(rows.integer(4).value_or(-1));
    const std::int64_t correlation = not_negative(rows.integer(3));
    made.kind = name != nullptr && name->known->host_sync ? Kind::host_sync : Kind::host_call;
    made.source = Source::profiler;
    made.name = name == nullptr ? NameId::none : name->known->id;
    made.lane = lanes_.thread(*thread);
    made.correlation = static_cast<std::uint64_t>(correlation);
    if (!syncs_.empty()) {
      auto sync = std::lower_bound(syncs_.begin(), syncs_.end(), correlation,
                                   [](const Sync& a, std::int64_t key) { return a.correlation < key; });
      for (; sync != syncs_.end() && sync->correlation == correlation && !sync->has_call; ++sync) {
        sync->has_call = true;
        if (name == nullptr || !name->polls) made.kind = Kind::host_sync;
      }
    }
    if (!nccl_.empty() && name != nullptr && name->launches) nccl_.launch(*thread, made.start, correlation);
    give(made);
  }
  losses_.ended(kRuntimeTable, rows);
}

void NsysImporter::syncs_without_call() {
  for (const Sync& sync : syncs_) {
    if (sync.has_call) continue;
    const std::string label = label_of(from_.sync_kinds, sync.type);
    Event made;
    made.kind = Kind::host_sync;
    made.source = Source::profiler;
    made.name = names_.id(label.empty() ? "synchronisation" : label);
    made.lane = lanes_.unknown_thread();
    made.start = sync.start;
    made.end = sync.end;
    made.correlation = static_cast<std::uint64_t>(not_negative(sync.correlation));
    give(made);
  }
}

// Column 6: the number of a string; the text itself in exports that others rewrote.
const NsysName* NsysImporter::kernel_name(Row row) {
  if (const std::optional<std::int64_t> id = row.integer(6)) return names_.by_id(*id);
  const std::string_view text = row.text(6);
  return text.empty() ? nullptr : &names_.by_text(text);
}

void NsysImporter::kernels() {
  constexpr std::array<std::string_view, 7> columns{
      "start", "end", "deviceId", "globalPid", "streamId", "correlationId", "demangledName|shortName|mangledName"};
  const bool tells_device = from_.database.has(kKernelTable, "deviceId");
  NsysRows rows = from_.database.rows(kKernelTable, columns);
  while (rows.next()) {
    const std::optional<std::int64_t> device = tells_device ? rows.integer(2) : 0;
    Event made;
    if (!owns_device_row(kKernelTable, rows.integer(3), device) || !has_time(kKernelTable, rows, made)) continue;
    const NsysName* name = kernel_name(rows);
    made.kind = Kind::kernel;
    made.source = Source::profiler;
    made.name = name == nullptr ? NameId::none : name->known->id;
    made.lane = lanes_.stream(rows.integer(4).value_or(0));
    made.correlation = static_cast<std::uint64_t>(not_negative(rows.integer(5)));
    if (name != nullptr && !name->known->nccl_operation.empty())
      give_collective(*name, made);
    else
      give(made);
  }
  losses_.ended(kKernelTable, rows);
}

void NsysImporter::give_collective(const NsysName& name, Event& made) {
  communicates_ = true;
  const NcclMeaning call = nccl_.find(static_cast<std::int64_t>(made.correlation));
  std::string_view operation = name.known->nccl_operation;
  if (operation == kUnknownCollective && !call.operation.empty()) operation = call.operation;
  made.kind = Kind::collective;
  made.name = names_.id(operation);
  made.bytes = call.bytes;
  if (call.communicator) made.group = names_.id(communicator_name(*call.communicator));
  give(made);
  if (!name.known->nccl_reduction.empty())
    sink_.attribute(made.reference, names_.id("op"), names_.id(name.known->nccl_reduction));
  sink_.attribute(made.reference, names_.id("kernel"), name.known->id);
}

void NsysImporter::other_device_rows(std::string_view table, Kind kind) {
  constexpr std::array<std::string_view, 8> columns{"start",    "end",           "deviceId", "globalPid",
                                                    "streamId", "correlationId", "bytes",    "copyKind"};
  const bool tells_device = from_.database.has(table, "deviceId");
  NsysRows rows = from_.database.rows(table, columns);
  while (rows.next()) {
    const std::optional<std::int64_t> device = tells_device ? rows.integer(2) : 0;
    Event made;
    if (!owns_device_row(table, rows.integer(3), device) || !has_time(table, rows, made)) continue;
    const std::string label = kind == Kind::copy ? label_of(from_.copy_kinds, rows.integer(7)) : "";
    made.kind = kind;
    made.source = Source::profiler;
    made.name = names_.id(kind == Kind::kernel   ? "CUDA graph"
                          : kind == Kind::memset ? "Memset"
                                                 : (label.empty() ? "Memcpy" : "Memcpy " + label));
    made.lane = lanes_.stream(rows.integer(4).value_or(0));
    made.correlation = static_cast<std::uint64_t>(not_negative(rows.integer(5)));
    made.bytes = not_negative(rows.integer(6));
    give(made);
  }
  losses_.ended(table, rows);
}

}  // namespace gradsync
