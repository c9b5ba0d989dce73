// Which bucket to send how: dense, in half precision, or as the Top-K that the job uses now. Pure.
#pragma once

#include <string>
#include <vector>

#include "analyzers/load_cost.h"
#include "analyzers/predict/bucket_recursion.h"

namespace gradsync {

struct BucketMethod {
  std::string name;  // dense, fp16, topk
  double compress = 0, transfer = 0, decompress = 0;
};

struct PlannedBucket {
  double ready = 0;
  std::vector<BucketMethod> methods;  // the first is dense
};

// For each bucket the index of its method, so that the gradients are together as early as the recursion finds: from all
// dense, all fp16 and so on, one bucket at a time is changed while that helps by more than `least`.
std::vector<std::size_t> plan_buckets(const std::vector<PlannedBucket>& buckets, double backward, double least);
SyncTimes sync_of(const std::vector<PlannedBucket>& buckets, const std::vector<std::size_t>& chosen, double backward);

}  // namespace gradsync
