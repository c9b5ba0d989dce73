// Bytes as the JSON of nccl-tests.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "collectors/import/nccl_tests_json.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace gradsync;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  static_cast<void>(is_nccl_tests_json(text));
  const NcclTestsJson found = read_nccl_tests_json(text);
  SeriesSet series;
  add_run(found.run, series);
  if (series.at("sweep." + found.run.operation).rows.size() != found.run.rows.size()) std::abort();
  return 0;
}
