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
  whole_value,
  real_value,
  json_text,
  binary_data,
};
constexpr std::array<std::string_view, 12> kColumns{"start",
                                                    "end",
                                                    "eventType",
                                                    "globalTid",
                                                    "text",
                                                    "textId",
                                                    "domainId",
                                                    "category",
                                                    "uint64Value|int64Value|uint32Value|int32Value",
                                                    "doubleValue|floatValue",
                                                    "jsonText",
                                                    "binaryData"};

}  // namespace

void NsysImporter::ranges() {
  NsysRows rows = from_.database.rows(kNvtxTable, kColumns);
  while (rows.next()) {
    const std::int64_t type = rows.integer(event_type).value_or(0);
    const bool names = type == kNvtxDomain || type == kNvtxCategory;
    if (!names && !is_nvtx_range(type) && type != kNvtxMark) continue;
    std::optional<std::int64_t> thread = rows.integer(thread_id);
    if (!owns_thread(kNvtxTable, thread)) continue;
    if (names)
      name_domain_or_category(rows, type, *thread);
    else
      range(rows, type, *thread);
  }
  losses_.ended(kNvtxTable, rows);
  add_domains_and_categories();
}

void NsysImporter::name_domain_or_category(Row row, std::int64_t type, std::int64_t thread) {
  constexpr std::size_t kMostNames = 1 << 16;
  const std::string_view own = row.text(text);
  const NsysName* name = own.empty() ? names_.by_id(row.integer(text_id).value_or(-1)) : &names_.by_text(own);
  if (name == nullptr || domain_names_.size() >= kMostNames) return;
  const std::int64_t number = type == kNvtxCategory ? row.integer(category).value_or(0) : 0;
  if (type == kNvtxCategory && number == 0) return;
  domain_names_[{process_of(thread), row.integer(domain_id).value_or(0), number}] = name->known->id;
}

void NsysImporter::add_domains_and_categories() {
  for (const InDomain& one : in_domains_) {
    const auto domain = domain_names_.find({one.key.process, one.key.domain, 0});
    if (one.key.domain != 0 && domain != domain_names_.end())
      sink_.attribute(one.reference, names_.id("domain"), domain->second);
    if (one.key.category == 0) continue;
    const auto named = domain_names_.find(one.key);
    if (named == domain_names_.end())
      sink_.attribute(one.reference, names_.id("category"), one.key.category);
    else
      sink_.attribute(one.reference, names_.id("category"), named->second);
  }
  in_domains_ = {};
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
  give(made);
  if (name->framework_operator) return;
  const DomainKey key{process_of(thread), row.integer(domain_id).value_or(0), row.integer(category).value_or(0)};
  if (key.domain != 0 || key.category != 0) in_domains_.push_back({made.reference, key});
  payload(row, made);
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

void NsysImporter::payload(Row row, const Event& made) {
  if (const std::optional<std::int64_t> value = row.integer(whole_value))
    sink_.attribute(made.reference, names_.id("payload"), *value);
  if (const std::optional<double> value = row.real(real_value))
    sink_.attribute(made.reference, names_.id("payload.float64"), std::bit_cast<std::int64_t>(*value));
}

}  // namespace gradsync
