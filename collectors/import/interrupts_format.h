// Dumps of /proc/interrupts. Two or more snapshots in a file → the series `irq` of what came between them. One alone
// holds counts since boot, which are no interval: it is kept as the series `irq_since_boot` until another file of the
// same machine is there to compare it with (interrupts_join.h).
#pragma once

#include <string_view>

#include "collectors/import/format.h"

namespace gradsync {

bool is_interrupts(std::string_view head);
Result<Imported> import_interrupts(const ImportRequest& request, EventSink& sink);

inline constexpr std::string_view kIrqSinceBoot = "irq_since_boot";
inline constexpr const char* kTwoSnapshots =
    "for i in 1 2; do date +%s.%N; cat /proc/interrupts; sleep 10; done > interrupts.txt";

}  // namespace gradsync
