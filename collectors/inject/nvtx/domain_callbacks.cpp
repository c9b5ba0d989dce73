// Calls with a domain, and the payload extension's two registrations.
#include "collectors/inject/cupti/collective_guard.h"
#include "collectors/inject/nccl/calls.h"
#include "collectors/inject/nvtx/callbacks.h"
#include "collectors/inject/nvtx/chain.h"
#include "collectors/inject/nvtx/domains.h"
#include "collectors/inject/nvtx/events.h"
#include "collectors/inject/nvtx/payload_schema.h"
#include "collectors/inject/nvtx/thread_ranges.h"
#include "src/spool_writer/write_event.h"

namespace gradsync::nvtx {
namespace {

// The domain handle that the next tool gave, null when it gave none.
DomainHandle theirs(DomainHandle held_by_job) {
  return reinterpret_cast<DomainHandle>(next_handle(reinterpret_cast<uint64_t>(held_by_job)));
}

void mark_ex(DomainHandle domain, const EventAttributes* attributes) {
  if (auto* next = next_domain<void(DomainHandle, const EventAttributes*)>(DomainSlot::mark_ex)) {
    next(theirs(domain), ForwardedAttributes(attributes).get());
  }
  write_described(t_ranges, domain_of_handle(domain), attributes, Shape::instant);
}

uint64_t range_start_ex(DomainHandle domain, const EventAttributes* attributes) {
  auto* next = next_domain<uint64_t(DomainHandle, const EventAttributes*)>(DomainSlot::range_start_ex);
  const uint64_t id = next == nullptr ? 0 : next(theirs(domain), ForwardedAttributes(attributes).get());
  return publish_range(id, write_described(t_ranges, domain_of_handle(domain), attributes, Shape::open));
}

void range_end(DomainHandle domain, uint64_t id) {
  const RangeIds ids = end_range(id);
  gsd_end(ids.ours);
  auto* next = next_domain<void(DomainHandle, uint64_t)>(DomainSlot::range_end);
  if (next != nullptr && ids.theirs != 0) next(theirs(domain), ids.theirs);
}

int range_push_ex(DomainHandle domain, const EventAttributes* attributes) {
  auto* next = next_domain<int(DomainHandle, const EventAttributes*)>(DomainSlot::range_push_ex);
  const int their_level = next == nullptr ? 0 : next(theirs(domain), ForwardedAttributes(attributes).get());
  const uint32_t index = domain_of_handle(domain);
  if (domain_at(index).is_nccl) cupti::collective_begins();
  ThreadRanges& thread = t_ranges;
  const int level = thread.push(write_described(thread, index, attributes, Shape::open), index);
  return next == nullptr ? level : their_level;
}

int range_pop(DomainHandle domain) {
  const ThreadRanges::Popped popped = t_ranges.pop(domain_of_handle(domain));
  spool::end_event(popped.event);
  if (domain_at(domain_of_handle(domain)).is_nccl) cupti::collective_ended();
  auto* next = next_domain<int(DomainHandle)>(DomainSlot::range_pop);
  return next == nullptr ? popped.level : next(theirs(domain));
}

void name_category_a(DomainHandle domain, uint32_t category, const char* name) {
  if (auto* next = next_domain<void(DomainHandle, uint32_t, const char*)>(DomainSlot::name_category_a)) {
    next(theirs(domain), category, name);
  }
  if (name != nullptr) name_category(domain_of_handle(domain), category, gsd_string(name, -1));
}

void name_category_w(DomainHandle domain, uint32_t category, const wchar_t* name) {
  if (auto* next = next_domain<void(DomainHandle, uint32_t, const wchar_t*)>(DomainSlot::name_category_w)) {
    next(theirs(domain), category, name);
  }
  char text[1024];
  if (name == nullptr) return;
  name_category(domain_of_handle(domain), category, gsd_string(text, narrow(name, text, sizeof text)));
}

StringHandle register_string(DomainHandle domain, uint64_t their_handle, const char* text) {
  const uint32_t call = domain_at(domain_of_handle(domain)).is_nccl ? nccl::call_of(text) : 0;
  const uint64_t ours = handle_of_string({gsd_string(text, -1), call});
  return reinterpret_cast<StringHandle>(publish_handle(their_handle, ours));
}

StringHandle register_string_a(DomainHandle domain, const char* text) {
  auto* next = next_domain<StringHandle(DomainHandle, const char*)>(DomainSlot::register_string_a);
  const StringHandle handle = next == nullptr ? nullptr : next(theirs(domain), text);
  return register_string(domain, reinterpret_cast<uint64_t>(handle), text);
}

StringHandle register_string_w(DomainHandle domain, const wchar_t* wide) {
  auto* next = next_domain<StringHandle(DomainHandle, const wchar_t*)>(DomainSlot::register_string_w);
  const StringHandle handle = next == nullptr ? nullptr : next(theirs(domain), wide);
  char text[1024];
  text[0] = 0;
  if (wide != nullptr) narrow(wide, text, sizeof text);
  return register_string(domain, reinterpret_cast<uint64_t>(handle), text);
}

DomainHandle create(uint64_t their_handle, const char* name) {
  return reinterpret_cast<DomainHandle>(publish_handle(their_handle, handle_of_domain(create_domain(name))));
}

DomainHandle create_a(const char* name) {
  auto* next = next_domain<DomainHandle(const char*)>(DomainSlot::create_a);
  return create(next == nullptr ? 0 : reinterpret_cast<uint64_t>(next(name)), name);
}

DomainHandle create_w(const wchar_t* wide) {
  auto* next = next_domain<DomainHandle(const wchar_t*)>(DomainSlot::create_w);
  const uint64_t handle = next == nullptr ? 0 : reinterpret_cast<uint64_t>(next(wide));
  char text[1024];
  text[0] = 0;
  if (wide != nullptr) narrow(wide, text, sizeof text);
  return create(handle, text);
}

// Ours stay: a late thread may still use the handle.
void destroy(DomainHandle domain) {
  auto* next = next_domain<void(DomainHandle)>(DomainSlot::destroy);
  if (next != nullptr && theirs(domain) != nullptr) next(theirs(domain));
}

uint64_t register_client_schema(DomainHandle domain, const SchemaAttributes* attributes) {
  auto* next = next_payload<uint64_t(DomainHandle, const SchemaAttributes*)>(PayloadSlot::schema_register);
  const uint64_t id = next == nullptr ? 0 : next(theirs(domain), attributes);
  return attributes == nullptr ? id : register_schema(domain_of_handle(domain), *attributes, id);
}

uint64_t register_client_enum(DomainHandle domain, const EnumAttributes* attributes) {
  auto* next = next_payload<uint64_t(DomainHandle, const EnumAttributes*)>(PayloadSlot::enum_register);
  const uint64_t id = next == nullptr ? 0 : next(theirs(domain), attributes);
  return attributes == nullptr ? id : register_enum(domain_of_handle(domain), *attributes, id);
}

}  // namespace

const Callback* domain_callbacks() {
  static Callback callbacks[DomainSlot::count];
  const auto set = [](uint32_t slot, auto* function) { callbacks[slot] = reinterpret_cast<Callback>(function); };
  set(DomainSlot::mark_ex, mark_ex);
  set(DomainSlot::range_start_ex, range_start_ex);
  set(DomainSlot::range_end, range_end);
  set(DomainSlot::range_push_ex, range_push_ex);
  set(DomainSlot::range_pop, range_pop);
  set(DomainSlot::name_category_a, name_category_a);
  set(DomainSlot::name_category_w, name_category_w);
  set(DomainSlot::register_string_a, register_string_a);
  set(DomainSlot::register_string_w, register_string_w);
  set(DomainSlot::create_a, create_a);
  set(DomainSlot::create_w, create_w);
  set(DomainSlot::destroy, destroy);
  return callbacks;
}

const intptr_t* payload_callbacks() {
  static intptr_t callbacks[2];
  callbacks[PayloadSlot::schema_register] = reinterpret_cast<intptr_t>(register_client_schema);
  callbacks[PayloadSlot::enum_register] = reinterpret_cast<intptr_t>(register_client_enum);
  return callbacks;
}

}  // namespace gradsync::nvtx
