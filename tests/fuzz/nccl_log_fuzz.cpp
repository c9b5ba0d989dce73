// Bytes as a log of nccl-tests and NCCL: no crash, and whatever is found is bounded by what was given.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "collectors/import/nccl_log.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace gradsync;
  std::string_view text(reinterpret_cast<const char*>(data), size);
  static_cast<void>(is_nccl_tests_log(text));
  static_cast<void>(is_nccl_debug_log(text));
  NcclLog log("log");
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    log.line(text.substr(0, end));
    if (end == std::string_view::npos) break;
    text.remove_prefix(end + 1);
  }
  const Result<Imported> imported = log.finish("log", Damage::none);
  if (!imported) return 0;
  for (const auto& [name, series] : imported->series)
    for (const auto& row : series.rows)
      if (row.size() != series.columns.size()) std::abort();
  return 0;
}
