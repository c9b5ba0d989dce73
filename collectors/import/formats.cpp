#include "collectors/import/format.h"
#include "collectors/import/kineto_format.h"
#include "collectors/import/nccl_inspector.h"
#include "collectors/import/nccl_log.h"
#include "collectors/import/nccl_tests_json.h"

namespace gradsync {

const std::vector<FileFormat>& file_formats() {
  static const std::vector<FileFormat> formats{
      {"profiler trace", is_chrome_trace, import_chrome_trace},
      {"nccl-tests JSON", is_nccl_tests_json, import_nccl_tests_json},
      {"NCCL Inspector records", is_nccl_inspector, import_nccl_inspector},
      {"nccl-tests log", is_nccl_tests_log, import_nccl_log},
      {"NCCL debug log", is_nccl_debug_log, import_nccl_log},
  };
  return formats;
}

}  // namespace gradsync
