#include "analyzers/predict/bucket_plan.h"

#include <algorithm>

namespace gradsync {

SyncTimes sync_of(const std::vector<PlannedBucket>& buckets, const std::vector<std::size_t>& chosen, double backward) {
  std::vector<BucketTimes> times;
  for (std::size_t i = 0; i < buckets.size(); ++i) {
    const BucketMethod& method = buckets[i].methods[chosen[i]];
    times.push_back({buckets[i].ready, method.compress, method.decompress, 0, method.transfer});
  }
  return bucket_recursion(times, backward);
}

std::vector<std::size_t> plan_buckets(const std::vector<PlannedBucket>& buckets, double backward, double least) {
  std::size_t methods = buckets.empty() ? 0 : buckets[0].methods.size();
  for (const PlannedBucket& bucket : buckets) methods = std::min(methods, bucket.methods.size());
  std::vector<std::size_t> best(buckets.size(), 0);
  double shortest = sync_of(buckets, best, backward).sync;
  for (std::size_t start = 0; start < methods; ++start) {
    std::vector<std::size_t> chosen(buckets.size(), start);
    double now = sync_of(buckets, chosen, backward).sync;
    for (bool better = true; better;) {
      better = false;
      for (std::size_t i = buckets.size(); i-- > 0;)
        for (std::size_t method = 0; method < methods; ++method) {
          std::vector<std::size_t> other = chosen;
          other[i] = method;
          const double then = sync_of(buckets, other, backward).sync;
          // What saves nothing goes back to the simplest.
          if (then < now - least || (method < chosen[i] && then <= now)) {
            chosen = std::move(other);
            now = then;
            better = true;
          }
        }
    }
    if (now < shortest - least) {
      shortest = now;
      best = chosen;
    }
  }
  return best;
}

}  // namespace gradsync
