// Any bytes as dumps of /proc/interrupts: snapshots, their differences, the names of their vectors.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "collectors/import/interrupts_format.h"
#include "src/hosttext/interrupt_counts.h"
#include "src/hosttext/series.h"

using namespace gradsync;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  (void)is_interrupts(text);
  InterruptCounts counts;
  for (const InterruptSnapshot& snapshot : parse_interrupts(text)) counts.add(snapshot);
  (void)irq_series(counts.between(), {"/proc/interrupts", "fuzz", counts.seconds()});
  (void)irq_series(counts.since_boot(), {"/proc/interrupts", "fuzz", std::nullopt});
  return 0;
}
