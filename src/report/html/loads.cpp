// The reference compressors that `bench` timed.
#include "src/report/html/parts.h"
#include "src/report/html/table.h"
#include "src/report/parts/parts.h"

namespace gradsync {

void write_loads(const Report& report, Markup& page) {
  const auto series = report.series.find("load_profiles");
  if (series == report.series.end()) return;
  draw_series_table(page, series->second, "Reference compressors",
                    {"algorithm", "device", "elements", "buckets", "ms_p50", "ms_p10", "ms_p90", "n",
                     "roofline_percent", "wire_bytes", "wire_percent", "cosine", "decompress_ms"});
  if (const std::string memory = memory_text(report); !memory.empty()) page.element("p", {{"class", "faint"}}, memory);
}

}  // namespace gradsync
