// Bytes as records of NCCL Inspector, in two pieces: what is given up in the first one must not crash the second.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "collectors/import/nccl_inspector.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace gradsync;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  static_cast<void>(is_nccl_inspector(text));
  InspectorRecords records;
  const std::size_t used = records.add(text.substr(0, size / 2), InspectorRecords::More::may_come);
  if (used > size / 2) std::abort();
  static_cast<void>(records.add(text.substr(used), InspectorRecords::More::none));
  SeriesSet series;
  Facts facts;
  records.report("file", series, facts);
  return 0;
}
