// Calls without a domain: nvtxRangePushA and its relatives. With a tool behind us a start is passed on before and an end
// after ours, so that the other tool's time is not in the range.
#include "collectors/inject/nvtx/callbacks.h"
#include "collectors/inject/nvtx/chain.h"
#include "collectors/inject/nvtx/domains.h"
#include "collectors/inject/nvtx/events.h"
#include "collectors/inject/nvtx/thread_ranges.h"
#include "src/spool_writer/write_event.h"

namespace gradsync::nvtx {
namespace {

// Passes a call on and returns what the next tool answered, else `otherwise`.
template <typename Result, typename... Arguments>
Result forwarded(uint32_t slot, Result otherwise, Arguments... arguments) {
  auto* next = next_core<Result(Arguments...)>(slot);
  return next == nullptr ? otherwise : next(arguments...);
}

template <typename... Arguments>
void forward(uint32_t slot, Arguments... arguments) {
  if (auto* next = next_core<void(Arguments...)>(slot)) next(arguments...);
}

constexpr int kUnanswered = INT32_MIN;

int pushed(ThreadRanges& thread, int theirs, uint64_t event) {
  const int level = thread.push(event, kDefaultDomain);
  return theirs == kUnanswered ? level : theirs;
}

void mark_ex(const EventAttributes* attributes) {
  forward<const EventAttributes*>(CoreSlot::mark_ex, ForwardedAttributes(attributes).get());
  write_described(t_ranges, kDefaultDomain, attributes, Shape::instant);
}

void mark_a(const char* name) {
  forward(CoreSlot::mark_a, name);
  write_named(t_ranges, name, Shape::instant);
}

void mark_w(const wchar_t* name) {
  forward(CoreSlot::mark_w, name);
  write_named(t_ranges, name, Shape::instant);
}

uint64_t range_start_ex(const EventAttributes* attributes) {
  const uint64_t theirs =
      forwarded<uint64_t, const EventAttributes*>(CoreSlot::range_start_ex, 0, ForwardedAttributes(attributes).get());
  return publish_range(theirs, write_described(t_ranges, kDefaultDomain, attributes, Shape::open));
}

uint64_t range_start_a(const char* name) {
  const uint64_t theirs = forwarded<uint64_t>(CoreSlot::range_start_a, 0, name);
  return publish_range(theirs, write_named(t_ranges, name, Shape::open));
}

uint64_t range_start_w(const wchar_t* name) {
  const uint64_t theirs = forwarded<uint64_t>(CoreSlot::range_start_w, 0, name);
  return publish_range(theirs, write_named(t_ranges, name, Shape::open));
}

void range_end(uint64_t id) {
  const RangeIds ids = end_range(id);
  gsd_end(ids.ours);
  if (ids.theirs != 0) forward(CoreSlot::range_end, ids.theirs);
}

int range_push_ex(const EventAttributes* attributes) {
  const int theirs = forwarded<int, const EventAttributes*>(CoreSlot::range_push_ex, kUnanswered,
                                                            ForwardedAttributes(attributes).get());
  ThreadRanges& thread = t_ranges;
  return pushed(thread, theirs, write_described(thread, kDefaultDomain, attributes, Shape::open));
}

int range_push_a(const char* name) {
  const int theirs = forwarded<int>(CoreSlot::range_push_a, kUnanswered, name);
  ThreadRanges& thread = t_ranges;
  return pushed(thread, theirs, write_named(thread, name, Shape::open));
}

int range_push_w(const wchar_t* name) {
  const int theirs = forwarded<int>(CoreSlot::range_push_w, kUnanswered, name);
  ThreadRanges& thread = t_ranges;
  return pushed(thread, theirs, write_named(thread, name, Shape::open));
}

int range_pop() {
  const ThreadRanges::Popped popped = t_ranges.pop(kDefaultDomain);
  spool::end_event(popped.event);
  return forwarded<int>(CoreSlot::range_pop, popped.level);
}

void name_category_a(uint32_t category, const char* name) {
  forward(CoreSlot::name_category_a, category, name);
  if (name != nullptr) name_category(kDefaultDomain, category, gsd_string(name, -1));
}

void name_category_w(uint32_t category, const wchar_t* name) {
  forward(CoreSlot::name_category_w, category, name);
  char text[1024];
  if (name != nullptr) name_category(kDefaultDomain, category, gsd_string(text, narrow(name, text, sizeof text)));
}

}  // namespace

const Callback* core_callbacks() {
  static Callback callbacks[CoreSlot::count];
  const auto set = [](uint32_t slot, auto* function) { callbacks[slot] = reinterpret_cast<Callback>(function); };
  set(CoreSlot::mark_ex, mark_ex);
  set(CoreSlot::mark_a, mark_a);
  set(CoreSlot::mark_w, mark_w);
  set(CoreSlot::range_start_ex, range_start_ex);
  set(CoreSlot::range_start_a, range_start_a);
  set(CoreSlot::range_start_w, range_start_w);
  set(CoreSlot::range_end, range_end);
  set(CoreSlot::range_push_ex, range_push_ex);
  set(CoreSlot::range_push_a, range_push_a);
  set(CoreSlot::range_push_w, range_push_w);
  set(CoreSlot::range_pop, range_pop);
  set(CoreSlot::name_category_a, name_category_a);
  set(CoreSlot::name_category_w, name_category_w);
  return callbacks;
}

}  // namespace gradsync::nvtx
