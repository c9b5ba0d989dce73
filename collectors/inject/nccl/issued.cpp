#include "collectors/inject/nccl/issued.h"

#include "collectors/inject/nccl/thread.h"
#include "src/spool_writer/atomics.h"

namespace gradsync::nccl {

__thread NcclThread t_nccl;

namespace {

// Tickets count calls from 1. A slot's state is 2 × ticket while it may be taken and one more afterwards; any other
// value: it is being written, or was used again.
struct Slot {
  uint64_t state;
  IssuedCall call;
};
Slot g_slots[kIssued];
uint64_t g_tickets;  // given out
uint64_t g_taken;    // all up to here are taken
bool g_kept;
bool g_reported;

bool fits(const IssuedCall& issued, const IssuedCall& work) {
  return issued.name == work.name && (issued.bytes == work.bytes || issued.bytes == 0 || work.bytes == 0) &&
         (issued.communicator == work.communicator || issued.communicator == 0 || work.communicator == 0);
}

IssuedCall read(const Slot& slot) {
  return {spool::load_relaxed(&slot.call.event), spool::load_relaxed(&slot.call.bytes),
          spool::load_relaxed(&slot.call.communicator), spool::load_relaxed(&slot.call.name)};
}

// `unsettled`: a call on the way was still being written, so another look may find it.
uint64_t take_up_to(uint64_t last, const IssuedCall& work, bool& unsettled) {
  uint64_t taken = spool::load_acquire(&g_taken);
  if (last > taken + kIssued) taken = last - kIssued;
  bool all_taken = true;
  for (uint64_t ticket = taken + 1; ticket <= last; ++ticket) {
    Slot& slot = g_slots[ticket % kIssued];
    const uint64_t state = spool::load_acquire(&slot.state);
    all_taken = all_taken && state == 2 * ticket + 1;
    if (all_taken) spool::raise_to(&g_taken, ticket);
    unsettled = unsettled || state < 2 * ticket;
    if (state != 2 * ticket) continue;
    const IssuedCall issued = read(slot);
    if (fits(issued, work) && spool::replace(&slot.state, 2 * ticket, 2 * ticket + 1)) return issued.event;
  }
  return 0;
}

}  // namespace

void keep_issued_calls() { spool::store_release(&g_kept, true); }

bool calls_are_reported() { return spool::load_relaxed(&g_reported); }

uint64_t remember_issued(const IssuedCall& call) {
  if (!spool::load_relaxed(&g_reported)) spool::store_relaxed(&g_reported, true);
  if (!spool::load_acquire(&g_kept)) return 0;
  const uint64_t ticket = spool::add_relaxed(&g_tickets, uint64_t{1}) + 1;
  Slot& slot = g_slots[ticket % kIssued];
  spool::store_relaxed(&slot.state, uint64_t{0});
  __atomic_thread_fence(__ATOMIC_RELEASE);
  spool::store_relaxed(&slot.call.event, call.event);
  spool::store_relaxed(&slot.call.bytes, call.bytes);
  spool::store_relaxed(&slot.call.communicator, call.communicator);
  spool::store_relaxed(&slot.call.name, call.name);
  spool::store_release(&slot.state, 2 * ticket);
  return ticket;
}

void refine_issued(uint64_t ticket, uint64_t bytes, uint64_t communicator) {
  Slot& slot = g_slots[ticket % kIssued];
  if (ticket == 0 || spool::load_acquire(&slot.state) != 2 * ticket) return;
  if (bytes != 0) spool::store_relaxed(&slot.call.bytes, bytes);
  if (communicator != 0) spool::store_relaxed(&slot.call.communicator, communicator);
}

uint64_t take_issued(const IssuedCall& work) {
  // Other threads may take the call that this one issued, and leave theirs for it where it has looked already.
  constexpr int kLooks = 64;
  for (int look = 0; look < kLooks; ++look) {
    bool unsettled = false;
    const uint64_t last = spool::load_relaxed(&g_tickets);
    if (const uint64_t event = take_up_to(last, work, unsettled)) return event;
    if (!unsettled && spool::load_relaxed(&g_tickets) == last) break;
  }
  return 0;
}

}  // namespace gradsync::nccl
