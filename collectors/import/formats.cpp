#include "collectors/import/format.h"
#include "collectors/import/kineto_format.h"
#include "collectors/import/nsys_format.h"

namespace gradsync {

const std::vector<FileFormat>& file_formats() {
  static const std::vector<FileFormat> formats{
      {"profiler trace", is_chrome_trace, import_chrome_trace},
      {"Nsight Systems export", is_nsys_export, import_nsys_export},
  };
  return formats;
}

}  // namespace gradsync
