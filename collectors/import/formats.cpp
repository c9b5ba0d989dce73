#include "collectors/import/format.h"
#include "collectors/import/kineto_format.h"
#include "collectors/import/nccl_log.h"

namespace gradsync {

const std::vector<FileFormat>& file_formats() {
  static const std::vector<FileFormat> formats{
      {"profiler trace", is_chrome_trace, import_chrome_trace},
      {"nccl-tests log", is_nccl_tests_log, import_nccl_log},
      {"NCCL debug log", is_nccl_debug_log, import_nccl_log},
  };
  return formats;
}

}  // namespace gradsync
