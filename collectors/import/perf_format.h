// What people print with perf of the scheduler and of interrupts → the series `sched` and `irq`. No events: times of
// perf are not those of a trace, and no rank is known.
#pragma once

#include <string_view>

#include "collectors/import/format.h"

namespace gradsync {

bool is_perf_latency(std::string_view head);
Result<Imported> import_perf_latency(const ImportRequest& request, EventSink& sink);

bool is_perf_timehist(std::string_view head);
Result<Imported> import_perf_timehist(const ImportRequest& request, EventSink& sink);

bool is_perf_script(std::string_view head);
Result<Imported> import_perf_script(const ImportRequest& request, EventSink& sink);

}  // namespace gradsync
