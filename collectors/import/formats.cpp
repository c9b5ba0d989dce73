#include "collectors/import/doctor_trace.h"
#include "collectors/import/format.h"
#include "collectors/import/interrupts_format.h"
#include "collectors/import/kineto_format.h"
#include "collectors/import/nccl_inspector.h"
#include "collectors/import/nccl_log.h"
#include "collectors/import/nccl_tests_json.h"
#include "collectors/import/nsys_format.h"
#include "collectors/import/perf_format.h"

namespace gradsync {

const std::vector<FileFormat>& file_formats() {
  static const std::vector<FileFormat> formats{
      {"gradsync-doctor trace", is_doctor_trace, import_doctor_trace},
      {"profiler trace", is_chrome_trace, import_chrome_trace},
      {"nccl-tests JSON", is_nccl_tests_json, import_nccl_tests_json},
      {"NCCL Inspector records", is_nccl_inspector, import_nccl_inspector},
      {"nccl-tests log", is_nccl_tests_log, import_nccl_log},
      {"NCCL debug log", is_nccl_debug_log, import_nccl_log},
      {"/proc/interrupts", is_interrupts, import_interrupts},
      {"perf sched latency", is_perf_latency, import_perf_latency},
      {"perf sched timehist", is_perf_timehist, import_perf_timehist},
      {"perf script", is_perf_script, import_perf_script},
      {"Nsight Systems export", is_nsys_export, import_nsys_export},
  };
  return formats;
}

}  // namespace gradsync
