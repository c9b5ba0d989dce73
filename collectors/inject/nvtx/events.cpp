#include "collectors/inject/nvtx/events.h"

#include "collectors/inject/nccl/calls.h"
#include "collectors/inject/nvtx/callbacks.h"
#include "collectors/inject/nvtx/domains.h"
#include "collectors/inject/nvtx/nccl_ranges.h"
#include "collectors/inject/nvtx/payload_schema.h"
#include "collectors/inject/nvtx/thread_ranges.h"
#include "src/spool_writer/write_event.h"

namespace gradsync::nvtx {

using spool::Attribute;
using spool::AttributeType;
using spool::Kind;
using spool::Phase;
using spool::Source;
using spool::What;

__thread ThreadRanges t_ranges;

namespace {

struct Keys {
  uint32_t domain;
  uint32_t category;
  uint32_t payload;
  uint32_t payload_float64;
};
Keys g_keys;

// Attributes of one event, in the order in which they are written; what does not fit is left out.
class AttributeList {
 public:
  void add(uint32_t key, AttributeType type, int64_t value) {
    if (key != 0 && count_ < kMost) list_[count_++] = {key, type, value};
  }
  const Attribute* list() const { return list_; }
  uint32_t count() const { return count_; }

 private:
  static constexpr uint32_t kMost = 20;
  Attribute list_[kMost];
  uint32_t count_ = 0;
};

uint64_t write(spool::Lane& lane, What what, uint64_t bytes, uint64_t where, Shape shape,
               const AttributeList& attributes) {
  return spool::write_event(
      lane, what, bytes, where, [shape] { return span_of(shape); }, attributes.list(), attributes.count());
}

inline uint64_t write_name_id(spool::Lane& lane, uint32_t name, Shape shape) {
  const Kind kind = shape == Shape::open ? Kind::range : Kind::mark;
  return spool::write_event(lane, {kind, Phase::none, Source::nvtx, 0, name}, 0, 0, [shape] { return span_of(shape); });
}

uint32_t name_of(const wchar_t* text) {
  char narrowed[1024];
  return text == nullptr ? 0 : gsd_string(narrowed, narrow(text, narrowed, sizeof narrowed));
}

RegisteredString message_of(ThreadRanges& thread, const EventAttributes& attributes, bool is_nccl) {
  switch (attributes.message_type) {
    case MessageType::registered:
      return string_of_handle(attributes.message.registered);
    case MessageType::ascii:
      return {thread.name_of(attributes.message.ascii), is_nccl ? nccl::call_of(attributes.message.ascii) : 0};
    case MessageType::wide:
      return {name_of(attributes.message.wide), 0};
    case MessageType::none:
      break;
  }
  return {0, 0};
}

int64_t bits_of(double value) {
  int64_t bits;
  __builtin_memcpy(&bits, &value, sizeof bits);
  return bits;
}

void add_number(const EventAttributes& attributes, AttributeList& list) {
  const auto& payload = attributes.payload;
  switch (attributes.payload_type) {
    case PayloadType::unsigned_int64:
    case PayloadType::int64:
      return list.add(g_keys.payload, AttributeType::integer, payload.int64);
    case PayloadType::unsigned_int32:
      return list.add(g_keys.payload, AttributeType::integer, payload.unsigned_int32);
    case PayloadType::int32:
      return list.add(g_keys.payload, AttributeType::integer, payload.int32);
    case PayloadType::float64:
      return list.add(g_keys.payload_float64, AttributeType::integer, bits_of(payload.float64));
    case PayloadType::float32:
      return list.add(g_keys.payload_float64, AttributeType::integer, bits_of(payload.float32));
    default:
      return;
  }
}

struct Blobs {
  const PayloadBlob* first;
  uint32_t count;
};

Blobs blobs_of(const EventAttributes& attributes) {
  const auto* first = reinterpret_cast<const PayloadBlob*>(attributes.payload.unsigned_int64);
  if (attributes.payload_type != PayloadType::extended || first == nullptr || attributes.payload_count <= 0) {
    return {nullptr, 0};
  }
  constexpr int32_t kMost = 4;
  return {first, static_cast<uint32_t>(attributes.payload_count < kMost ? attributes.payload_count : kMost)};
}

// What an extended payload says of the event itself, next to its attributes.
struct Meaning {
  uint64_t bytes;
  uint32_t group;
};

void add_field(uint32_t domain, const Field& field, const PayloadBlob& blob, AttributeList& list) {
  const Value value = read_field(field, blob);
  if (!value.present) return;
  if (field.scalar == Scalar::registered_string) {
    const RegisteredString text = string_of_handle(reinterpret_cast<StringHandle>(value.bits));
    return list.add(field.key, AttributeType::string, text.id);
  }
  const uint32_t name =
      field.scalar == Scalar::enumeration ? enum_name(domain, field.enum_id, static_cast<uint64_t>(value.bits)) : 0;
  if (name != 0) return list.add(field.key, AttributeType::string, name);
  list.add(field.key, AttributeType::integer, value.bits);
}

Meaning add_payload(uint32_t domain, bool is_nccl, const EventAttributes& attributes, AttributeList& list) {
  Meaning meaning = {};
  const Blobs blobs = blobs_of(attributes);
  if (blobs.count == 0) add_number(attributes, list);
  for (uint32_t i = 0; i < blobs.count; ++i) {
    const PayloadBlob& blob = blobs.first[i];
    const Schema* schema = find_schema(domain, blob);
    for (uint32_t k = 0; schema != nullptr && k < schema->field_count; ++k) {
      const Field& field = schema->fields[k];
      const Role role = is_nccl ? field.role : Role::plain;
      const auto number = static_cast<uint64_t>(role == Role::plain ? 0 : read_field(field, blob).bits);
      if (role == Role::message_bytes) {
        meaning.bytes = number;
      } else if (role == Role::communicator) {
        meaning.group = nccl::communicator_name(number);
      } else {
        add_field(domain, field, blob, list);
      }
    }
  }
  return meaning;
}

}  // namespace

void prepare_events() {
  g_keys = {gsd_string("domain", -1), gsd_string("category", -1), gsd_string("payload", -1),
            gsd_string("payload.float64", -1)};
  prepare_nccl_ranges();
}

uint64_t write_named(ThreadRanges& thread, const char* name, Shape shape) {
  return write_name_id(thread.lane(), thread.name_of(name), shape);
}

uint64_t write_named(ThreadRanges& thread, const wchar_t* name, Shape shape) {
  return write_name_id(thread.lane(), name_of(name), shape);
}

uint64_t write_described(ThreadRanges& thread, uint32_t domain, const EventAttributes* attributes, Shape shape) {
  spool::Lane& lane = thread.lane();
  if (attributes == nullptr || attributes->size < sizeof(EventAttributes)) return write_name_id(lane, 0, shape);
  const Domain& where = domain_at(domain);
  const RegisteredString message = message_of(thread, *attributes, where.is_nccl);
  if (where.is_nccl && message.nccl_call != 0) {
    return write_nccl_range(lane, message.nccl_call, domain, blobs_of(*attributes).first, shape);
  }
  const bool bare = where.name == 0 && attributes->category == 0 && attributes->payload_type == PayloadType::none;
  if (bare) return write_name_id(lane, message.id, shape);
  AttributeList list;
  if (where.name != 0 && !where.is_nccl) list.add(g_keys.domain, AttributeType::string, where.name);
  if (attributes->category != 0) {
    const uint32_t name = category_name(domain, attributes->category);
    if (name != 0) list.add(g_keys.category, AttributeType::string, name);
    if (name == 0) list.add(g_keys.category, AttributeType::integer, attributes->category);
  }
  const Meaning meaning = add_payload(domain, where.is_nccl, *attributes, list);
  const Kind kind = shape == Shape::open ? Kind::range : Kind::mark;
  const Source source = where.is_nccl ? Source::nccl_nvtx : Source::nvtx;
  return write(lane, {kind, Phase::none, source, 0, message.id}, meaning.bytes, GSD_WHERE(meaning.group, 0), shape,
               list);
}

}  // namespace gradsync::nvtx
