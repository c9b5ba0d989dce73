// The NVTX half of NsysImporter.
#include <algorithm>
#include <array>
#include <bit>

#include "collectors/import/nsys_importer.h"

namespace gradsync {
namespace {

enum Column {
  start,
  end,
  event_type,
  thread_id,
  text,
  text_id,
  domain_id,
  category,
  uint64_value,
  int64_value,
  uint32_value,
  int32_value,
  double_value,
  float_value,
  json_text,
  binary_data,
};
constexpr std::array<std::string_view, 16> kColumns{
    "start",       "end",        "eventType",   "globalTid",  "text",        "textId",     "domainId", "category",
    "uint64Value", "int64Value", "uint32Value", "int32Value", "doubleValue", "floatValue", "jsonText", "binaryData"};

constexpr std::string_view kNcclDomain = "NCCL";

}  // namespace

void NsysExport::find_nvtx_names() {
  constexpr std::size_t kMostNames = 1 << 16;
  constexpr std::array<std::string_view, 6> columns{"eventType", "globalTid", "domainId", "category", "text", "textId"};
  NsysRows rows = database.rows(kNvtxTable, columns);
  while (rows.next()) {
    const std::optional<std::int64_t> type = rows.integer(0), thread = rows.integer(1);
    if ((type != kNvtxDomain && type != kNvtxCategory) || !thread) continue;
    if (domains.size() + categories.size() >= kMostNames) break;
    std::string name = clean_text(rows.text(4));
    if (name.empty() && rows.integer(5)) name = clean_text(strings.find(*rows.integer(5)).value_or(""));
    const std::int64_t process = process_of(*thread), domain = rows.integer(2).value_or(0);
    if (name.empty()) continue;
    if (type == kNvtxDomain)
      domains[{process, domain}] = std::move(name);
    else
      categories[{process, domain, rows.integer(3).value_or(0)}] = std::move(name);
  }
}

void NsysImporter::ranges() {
  NsysRows rows = from_.database.rows(kNvtxTable, kColumns);
  while (rows.next()) {
    const std::int64_t type = rows.integer(event_type).value_or(0);
    std::optional<std::int64_t> thread = rows.integer(thread_id);
    if ((is_nvtx_range(type) || type == kNvtxMark) && owns_thread(kNvtxTable, thread)) range(rows, type, *thread);
  }
  losses_.ended(kNvtxTable, rows);
}

void NsysImporter::range(Row row, std::int64_t type, std::int64_t thread) {
  const std::optional<std::int64_t> begin = row.integer(start), finish = row.integer(end);
  const bool open = !finish && row.text(end).empty() && !row.real(end);  // NULL: it was never ended
  if (!begin || *begin < 0 || (!finish && !open) || (finish && *finish < *begin)) {
    losses_.rows(kNvtxTable, "without a valid time");
    return;
  }
  const std::string_view own = row.text(text);
  const NsysName* name = own.empty() ? names_.by_id(row.integer(text_id).value_or(-1)) : &names_.by_text(own);
  if (name == nullptr) {
    losses_.rows(kNvtxTable, "without a text");
    return;
  }
  Event made;
  made.kind = type == kNvtxMark ? Kind::mark : Kind::range;
  made.source = name->framework_operator ? Source::profiler : Source::nvtx;
  made.name = name->known->id;
  made.lane = lanes_.thread(thread);
  made.start = *begin;
  made.end = type == kNvtxMark ? *begin : finish.value_or(0);
  if (name->nccl_call && type != kNvtxMark) return nccl_range(*name, row, thread, made);
  if (name->framework_operator && !name->known->spanning.empty()) {
    made.kind = Kind::collective;
    made.name = names_.id(name->known->spanning);
  }
  if (!name->framework_operator) return describe(row, thread, made);
  give(made);
}

// With kernels in the export the kernel is the collective and this only its launch; without them it is all there is.
void NsysImporter::nccl_range(const NsysName& name, Row row, std::int64_t thread, Event& made) {
  communicates_ = communicates_ || !name.operation.empty();
  made.source = Source::nccl_nvtx;
  NcclArguments arguments = from_.payloads.decode(row.text(binary_data));
  if (!arguments.bytes && !arguments.communicator) arguments = NsysPayloads::decode_json(row.text(json_text));
  if (from_.catalog.has_kernels) {
    nccl_.add({thread, made.start, made.end, name.operation, name.group, arguments});
  } else if (!name.operation.empty()) {
    made.kind = Kind::collective;
    made.flags |= kFlagExtrapolated;
    made.name = names_.id(name.operation);
    constexpr auto most = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
    made.bytes = static_cast<std::int64_t>(std::min(arguments.bytes.value_or(0), most));
    if (arguments.communicator) made.group = names_.id(communicator_name(*arguments.communicator));
  }
  give(made);
}

void NsysImporter::describe(Row row, std::int64_t thread, const Event& made) {
  Event event = made;
  const std::int64_t process = process_of(thread), domain = row.integer(domain_id).value_or(0);
  const auto named = from_.domains.find({process, domain});
  const bool has_domain = domain != 0 && named != from_.domains.end();
  if (has_domain && named->second == kNcclDomain) event.source = Source::nccl_nvtx;
  give(event);
  if (has_domain && event.source == Source::nvtx)
    sink_.attribute(event.reference, names_.id("domain"), names_.id(named->second));
  if (const std::int64_t number = row.integer(category).value_or(0); number != 0) {
    const auto found = from_.categories.find({process, domain, number});
    if (found == from_.categories.end())
      sink_.attribute(event.reference, names_.id("category"), number);
    else
      sink_.attribute(event.reference, names_.id("category"), names_.id(found->second));
  }
  for (const Column column : {uint64_value, int64_value, uint32_value, int32_value})
    if (const std::optional<std::int64_t> value = row.integer(column))
      sink_.attribute(event.reference, names_.id("payload"), *value);
  for (const Column column : {double_value, float_value})
    if (const std::optional<double> value = row.real(column))
      sink_.attribute(event.reference, names_.id("payload.float64"), std::bit_cast<std::int64_t>(*value));
}

}  // namespace gradsync
