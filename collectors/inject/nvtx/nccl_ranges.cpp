#include "collectors/inject/nvtx/nccl_ranges.h"

#include "collectors/inject/nccl/calls.h"
#include "collectors/inject/nccl/issued.h"
#include "collectors/inject/nccl/thread.h"
#include "src/spool_writer/write_event.h"

namespace gradsync::nvtx {
namespace {

uint32_t g_reduction;  // the attribute's key

// A wrapper of ours has written this call already, from its arguments: the range adds what it knows better.
bool refines_open_call(const Collective& collective) {
  const nccl::OpenCall& open = nccl::t_nccl.open;
  if (open.event == spool::kNoEvent || open.name != collective.name) return false;
  spool::Record* record = spool::event_at(open.event);
  if (record == nullptr) return false;
  if (collective.bytes != 0) {
    spool::store_relaxed(&record->bytes, collective.bytes);
    spool::store_relaxed(&record->source, spool::Source::nccl_nvtx);
  }
  if (collective.group != 0) {
    spool::store_relaxed(&record->group, collective.group);
    spool::store_relaxed(&record->sequence, collective.sequence);
  }
  nccl::refine_issued(open.ticket, collective.bytes, collective.communicator);
  return true;
}

}  // namespace

void prepare_nccl_ranges() { g_reduction = gsd_string("op", -1); }

Collective read_nccl_range(uint32_t call, uint32_t domain, const PayloadBlob* payload) {
  Collective collective = {};
  collective.name = nccl::call_name(call);
  const Schema* schema = payload == nullptr ? nullptr : find_schema(domain, *payload);
  for (uint32_t i = 0; schema != nullptr && i < schema->field_count; ++i) {
    const Field& field = schema->fields[i];
    const Value value = field.role == Role::plain ? Value{} : read_field(field, *payload);
    if (!value.present) continue;
    if (field.role == Role::message_bytes) collective.bytes = static_cast<uint64_t>(value.bits);
    if (field.role == Role::communicator) collective.communicator = static_cast<uint64_t>(value.bits);
    if (field.role == Role::reduction) collective.reduction = nccl::reduction_name(static_cast<uint64_t>(value.bits));
  }
  collective.group = nccl::communicator_name(collective.communicator);
  uint32_t* calls = nccl::has_order(call) ? nccl::calls_of(collective.communicator) : nullptr;
  if (calls != nullptr) collective.sequence = spool::add_relaxed(calls, 1u);
  return collective;
}

uint64_t write_nccl_range(spool::Lane& lane, uint32_t call, uint32_t domain, const PayloadBlob* payload, Shape shape) {
  const Collective collective = read_nccl_range(call, domain, payload);
  if (refines_open_call(collective)) return spool::kNoEvent;
  const spool::Attribute reduction{g_reduction, spool::AttributeType::string, collective.reduction};
  const bool has_reduction = g_reduction != 0 && collective.reduction != 0;
  const spool::What what{spool::Kind::collective, spool::Phase::none, spool::Source::nccl_nvtx,
                         spool::kFlagExtrapolated, collective.name};
  const uint64_t event = spool::write_event(
      lane, what, collective.bytes, GSD_WHERE(collective.group, collective.sequence),
      [shape] { return span_of(shape); }, &reduction, has_reduction ? 1 : 0);
  nccl::remember_issued({event, collective.bytes, collective.communicator, collective.name});
  return event;
}

}  // namespace gradsync::nvtx
