// Which remedy somebody applied between two runs of a job, by what their reports say that it changes. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "src/model/report.h"

namespace gradsync {

struct AppliedRemedy {
  std::string remedy;  // as in predict.<remedy>.saved_ms
  std::string sign;    // "compression topk → none"
};

// Of the remedies that leave a sign: no_compression, fp16_hook, bucket_size, int32_index, no_host_sync, rdma_bound.
// Several, where several changed.
std::vector<AppliedRemedy> applied_remedies(const Report& before, const Report& after);

// Whether applying the remedy is what changes this fact: then the job is otherwise the same.
bool changes_fact(std::string_view remedy, std::string_view fact);

}  // namespace gradsync
