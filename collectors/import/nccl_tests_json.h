// nccl-tests' own JSON (-J FILE): one object with args, config, results. A test that was interrupted leaves the file
// without its end; what is there is read. The environment that the file also holds is not looked at.
#pragma once

#include <string_view>

#include "collectors/import/format.h"
#include "collectors/import/nccl_sweep.h"

namespace gradsync {

struct NcclTestsJson {
  SweepRun run;
  std::string version;  // of NCCL
  std::string gpu;
  std::int64_t broken = 0;  // results that could not be read
  bool cut = false;
};

bool is_nccl_tests_json(std::string_view head);
NcclTestsJson read_nccl_tests_json(std::string_view text);
Result<Imported> import_nccl_tests_json(const ImportRequest& request, EventSink& sink);

}  // namespace gradsync
