#include "collectors/import/format.h"
#include "collectors/import/kineto_format.h"

namespace gradsync {

const std::vector<FileFormat>& file_formats() {
  static const std::vector<FileFormat> formats{
      {"profiler trace", is_chrome_trace, import_chrome_trace},
  };
  return formats;
}

}  // namespace gradsync
