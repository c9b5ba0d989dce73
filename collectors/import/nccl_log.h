// Logs of nccl-tests, rccl-tests and of NCCL itself: one file often holds all of them, so one importer reads them all
// and the kind only says what was recognised first.
#pragma once

#include <string_view>

#include "collectors/import/byte_source.h"
#include "collectors/import/format.h"
#include "collectors/import/nccl_debug.h"
#include "collectors/import/nccl_tests_log.h"

namespace gradsync {

class NcclLog {
 public:
  explicit NcclLog(std::string file_name) : tests_(std::move(file_name)) {}

  void line(std::string_view text);
  // Errors: no measured row, and not a line of NCCL.
  Result<Imported> finish(const std::filesystem::path& path, Damage damage);

 private:
  NcclTestsLog tests_;
  NcclDebug debug_;
};

bool is_nccl_tests_log(std::string_view head);
bool is_nccl_debug_log(std::string_view head);
Result<Imported> import_nccl_log(const ImportRequest& request, EventSink& sink);

}  // namespace gradsync
