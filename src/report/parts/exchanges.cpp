// The compressed exchanges of a profile, below the step:
//   exchange  select+compact → all_gather → reconstruct   12 kernels a step · 7.3 ms before it · 4.4 ms behind it · …
#include <fmt/format.h>

#include <string>
#include <vector>

#include "src/base/text.h"
#include "src/base/units.h"
#include "src/report/parts/parts.h"
#include "src/report/parts/words.h"

namespace gradsync {
namespace {

std::string fact_of(const Report& report, const std::string& key) {
  const auto found = report.facts.find(key);
  return found == report.facts.end() ? std::string{} : found->second;
}

void append(const Report& report, std::string_view name, std::string_view words, std::vector<std::string>& out) {
  const auto found = find_metric(report, name, "all");
  if (found.metric != nullptr)
    out.push_back(no_break(format_value(found.value, found.metric->unit()) + std::string(words)));
}

}  // namespace

void draw_exchanges(const Report& report, Canvas& canvas) {
  const std::string told = fact_of(report, "compression.fingerprint");
  if (told.empty() || told == "none") return;
  canvas.label("exchange", 0, 10, Paint::strong);
  canvas.piece(escape_controls(told));
  std::vector<std::string> numbers;
  append(report, "compress.kernels_per_step", " kernels a step", numbers);
  append(report, "compress.kernel_ms", " before it", numbers);
  append(report, "decompress.kernel_ms", " behind it", numbers);
  const std::string wire = fact_of(report, "compression.wire_dtype");
  append(report, "compress.wire_bytes", wire.empty() ? " sent" : " sent as " + wire, numbers);
  canvas.piece(join(numbers, " · "), Paint::faint, 3);
}

}  // namespace gradsync
