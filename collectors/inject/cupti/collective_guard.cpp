#include "collectors/inject/cupti/collective_guard.h"

namespace gradsync::cupti {

CollectiveGuard g_collective_guard;

void watch_collective() {
  CollectiveGuard& guard = g_collective_guard;
  __atomic_fetch_add(&guard.open, 1U, __ATOMIC_SEQ_CST);
  spool::add_relaxed(&guard.seen, 1U);
  void (*end_range)() = spool::load_acquire(&guard.end_range);
  if (end_range != nullptr && spool::load_ordered(&guard.counting) != 0) end_range();
}

}  // namespace gradsync::cupti
