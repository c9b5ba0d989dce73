#include "src/commands/collectors.h"

#include "collectors/attach/attach.h"

namespace gradsync {

std::vector<std::unique_ptr<Collector>> all_collectors() {
  std::vector<std::unique_ptr<Collector>> collectors;
  collectors.push_back(make_torch_attach());
  collectors.push_back(make_nvtx_attach());
  collectors.push_back(make_process_watch());
  return collectors;
}

}  // namespace gradsync
